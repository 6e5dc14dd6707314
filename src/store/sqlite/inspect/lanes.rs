//! Lanes as people see them: who occupies each, how long its line is, and why it is paused.

use rusqlite::{Connection, params};

use super::jobs::id_of;
use super::query::{all, one};
use crate::error::Result;
use crate::model::id::JobId;
use crate::store::people::{Filter, LaneView, Page};

/// States that a list of lanes can be narrowed to.
pub(crate) const STATES: [&str; 6] = ["paused", "running", "waiting", "ready", "scheduled", "idle"];

/// Lanes that one page looks at, and rows of a line that are counted.
const WALK: usize = 2_000;

// The next lane in use: each part is one seek.
const NEXT: &str = "SELECT min(lane) FROM (SELECT min(lane) AS lane FROM lanebox_running WHERE lane > ?1 \
UNION ALL SELECT min(lane) FROM lanebox_tried WHERE lane > ?1 UNION ALL SELECT min(lane) FROM lanebox_open WHERE lane > ?1 \
UNION ALL SELECT min(lane) FROM lanebox_scheduled WHERE lane > ?1 UNION ALL SELECT min(lane) FROM lanebox_pause WHERE lane > ?1)";
// One seek for each org.
const OF_NAME: &str = "SELECT l.id FROM lanebox_org o CROSS JOIN lanebox_lane l ON l.org = o.id AND l.name = ?1 \
WHERE ?2 IS NULL OR o.name = ?2 ORDER BY o.id LIMIT 200";

const LANE: &str = "SELECT o.name, l.name, r.id, rk.name, t.id, tk.name, p.by_operator, p.dead_job, p.cancel_upto, \
  (SELECT n.id FROM lanebox_open n WHERE n.lane = l.id ORDER BY n.priority, n.run_at, n.id LIMIT 1), \
  (SELECT count(*) FROM (SELECT 1 FROM lanebox_open n WHERE n.lane = l.id LIMIT 1000)), \
  (SELECT count(*) FROM (SELECT 1 FROM lanebox_scheduled n WHERE n.lane = l.id LIMIT 1000)) \
FROM lanebox_lane l CROSS JOIN lanebox_org o ON o.id = l.org \
LEFT JOIN lanebox_running r ON r.lane = l.id LEFT JOIN lanebox_kind rk ON rk.id = r.kind \
LEFT JOIN lanebox_tried t ON t.lane = l.id LEFT JOIN lanebox_job tj ON tj.id = t.id LEFT JOIN lanebox_kind tk ON tk.id = tj.kind \
LEFT JOIN lanebox_pause p ON p.lane = l.id WHERE l.id = ?1";

/// Lanes that hold something or are paused, oldest first; a lane asked for is shown even if it is
/// empty.
pub(in super::super) fn lanes(conn: &Connection, filter: &Filter) -> Result<Page<LaneView>> {
    filter.without("lanes", &["kind", "since"])?;
    let limit = filter.rows()?;
    let state = filter.state_of(&STATES)?;
    if let Some(asked) = asked_for(conn, filter)? {
        return one_by_one(conn, &asked, filter, state);
    }
    let mut page = Page { rows: Vec::new(), next: None };
    let mut at = filter.cursor()?.unwrap_or(0);
    for seen in 0.. {
        let Some(lane) = one(conn, NEXT, [at], |row| row.get::<_, Option<i64>>(0))?.flatten()
        else {
            break;
        };
        if page.rows.len() == limit || seen == WALK {
            page.next = Some(at.to_string());
            break;
        }
        page.rows.extend(view(conn, lane)?.filter(|view| is_shown(view, filter, state)));
        at = lane;
    }
    Ok(page)
}

// By its name, which several orgs may use, or by its number.
fn asked_for(conn: &Connection, filter: &Filter) -> Result<Option<Vec<i64>>> {
    let no = filter.lane_number()?;
    let Some(name) = &filter.lane else { return Ok(no.map(|no| vec![no])) };
    let mut ids: Vec<i64> = all(conn, OF_NAME, params![name, filter.org], |row| row.get(0))?;
    ids.retain(|&id| no.is_none_or(|no| no == id));
    Ok(Some(ids))
}

fn one_by_one(
    conn: &Connection,
    ids: &[i64],
    filter: &Filter,
    state: Option<&str>,
) -> Result<Page<LaneView>> {
    let mut rows = Vec::new();
    for &id in ids {
        rows.extend(view(conn, id)?.filter(|view| is_shown(view, filter, state)));
    }
    Ok(Page { rows, next: None })
}

fn is_shown(view: &LaneView, filter: &Filter, state: Option<&str>) -> bool {
    filter.org.as_ref().is_none_or(|org| *org == view.org)
        && state.is_none_or(|state| state == view.state)
}

struct Row {
    view: LaneView,
    running: Option<i64>,
    keeper: Option<i64>,
    head: Option<i64>,
    dead_job: Option<i64>,
    by_operator: bool,
    cancels: bool,
}

fn view(conn: &Connection, lane: i64) -> Result<Option<LaneView>> {
    let row = one(conn, LANE, [lane], |row| {
        let (running_kind, keeper_kind): (Option<String>, Option<String>) =
            (row.get(3)?, row.get(5)?);
        let view = LaneView {
            no: lane.to_string(),
            org: row.get(0)?,
            name: row.get(1)?,
            state: String::new(),
            occupant: None,
            occupant_kind: running_kind.or(keeper_kind),
            line: row.get(10)?,
            scheduled: row.get(11)?,
            head: None,
            paused: Vec::new(),
        };
        Ok(Row {
            view,
            running: row.get(2)?,
            keeper: row.get(4)?,
            head: row.get(9)?,
            dead_job: row.get(7)?,
            by_operator: row.get::<_, Option<bool>>(6)?.unwrap_or(false),
            cancels: row.get::<_, Option<i64>>(8)?.is_some(),
        })
    })?;
    row.map(|row| told(conn, row)).transpose()
}

fn told(conn: &Connection, row: Row) -> Result<LaneView> {
    let named = |no: Option<i64>| -> Result<Option<JobId>> {
        Ok(no.map(|no| id_of(conn, no)).transpose()?.flatten())
    };
    let mut view = row.view;
    view.occupant = named(row.running.or(row.keeper))?;
    view.head = named(row.head)?;
    if row.by_operator {
        view.paused.push("operator".to_owned());
    }
    if let Some(no) = row.dead_job {
        let job = id_of(conn, no)?.map_or(no.to_string(), |id| id.to_string());
        view.paused.push(format!("dead job {job}"));
    }
    if row.cancels {
        view.paused.push("its line is being cancelled".to_owned());
    }
    let state = match (&view.paused[..], row.running, row.keeper, row.head, view.scheduled) {
        ([_, ..], ..) => "paused",
        (_, Some(_), ..) => "running",
        (_, _, Some(_), ..) => "waiting",
        (_, _, _, Some(_), _) => "ready",
        (.., 1..) => "scheduled",
        _ => "idle",
    };
    view.state = state.to_owned();
    Ok(view)
}
