//! `lanebox notices`: what a person should look at; and, with a number, dealing with one of it.

use lanebox::Lanebox;
use lanebox::people::{Filter, NoticeView};
use serde_json::json;

use super::Session;
use crate::args::{Narrow, Since, Who, id, set};
use crate::output::table::Table;
use crate::output::text::instant;

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  lanebox notices\n  lanebox notices 4 --resolve")]
pub struct Notices {
    /// Show this notice, by its number
    #[arg(value_name = "NOTICE", value_parser = id::notice, conflicts_with_all = ["state", "kind", "since", "org", "after", "limit"])]
    id: Option<String>,
    /// You have seen it
    #[arg(long, requires = "id", conflicts_with = "resolve")]
    acknowledge: bool,
    /// You have dealt with what it is about
    #[arg(long, requires = "id")]
    resolve: bool,
    #[command(flatten)]
    who: Who,
    /// Only notices in this state [default: those that nobody has resolved]
    #[arg(long, value_parser = ["open", "acknowledged", "resolved", "all"])]
    state: Option<String>,
    /// Only notices of this kind
    #[arg(long)]
    kind: Option<String>,
    /// Only what happened since: 2h, 2026-05-01 or 2026-05-01T08:00:00Z
    #[arg(long, value_name = "TIME")]
    since: Option<Since>,
    #[command(flatten)]
    narrow: Narrow,
}

impl Notices {
    pub fn run(&self, session: &Session) -> anyhow::Result<()> {
        if let Some(id) = &self.id {
            return self.one(session, id);
        }
        let filter = self.narrow.filter(self.state.as_ref());
        let mut filter = set(filter, self.kind.as_ref(), Filter::kind);
        if let Some(since) = self.since {
            filter = filter.since(since.from(session.lanebox.now()));
        }
        let page = session.page(filter, Lanebox::notices)?;
        if session.out.json {
            return session.out.document(&json!({ "notices": page.rows, "next": page.next }));
        }
        let columns = [
            "notice",
            "severity",
            "state",
            "count",
            "last",
            "org",
            "kind",
            "what happened",
            "about",
        ];
        let mut table = Table::of(&columns);
        for notice in &page.rows {
            table.row(row(session, notice));
        }
        session.list(&table, "no notices", &self.narrow)?;
        session.more(page.next.as_deref())
    }

    fn one(&self, session: &Session, id: &str) -> anyhow::Result<()> {
        if self.acknowledge {
            session.lanebox.acknowledge(id, &self.who.name())?;
        } else if self.resolve {
            session.lanebox.resolve_notice(id, &self.who.name())?;
        }
        let notice = session.lanebox.notice(id)?;
        if session.out.json {
            return session.out.document(&notice);
        }
        let mut facts = Table::plain();
        facts.fact("notice", &notice.id);
        facts.fact("org", &notice.org);
        facts.fact("kind", &notice.kind);
        facts.fact("severity", &notice.severity);
        facts.fact("state", &notice.state);
        facts.fact("what happened", &notice.reason);
        facts.fact("what to do", &notice.next_step);
        facts.maybe("about", Some(about(&notice)).filter(|about| !about.is_empty()));
        facts.fact("how often", notice.count.to_string());
        facts.fact("first", instant(notice.first_at));
        let ago = session.out.when(notice.last_at);
        facts.fact("last", format!("{} ({ago})", instant(notice.last_at)));
        facts.maybe("resolved", notice.resolved_at.map(instant));
        facts.maybe("resolved by", notice.resolved_by.as_deref());
        session.out.table(&facts, "")
    }
}

fn row(session: &Session, notice: &NoticeView) -> [String; 9] {
    [
        notice.id.clone(),
        notice.severity.clone(),
        notice.state.clone(),
        notice.count.to_string(),
        session.out.when(notice.last_at),
        notice.org.clone(),
        notice.kind.clone(),
        notice.reason.clone(),
        about(notice),
    ]
}

fn about(notice: &NoticeView) -> String {
    match (&notice.about, &notice.about_id) {
        (Some(what), Some(id)) => format!("{what} {id}"),
        _ => String::new(),
    }
}
