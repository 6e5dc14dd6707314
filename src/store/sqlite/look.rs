//! The first half of a pass: what there is to dispatch, in one snapshot of a reader. It decides
//! nothing that the commit does not check again, and its cost depends on neither history nor the
//! number of laggards.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::event_row::{event, text};
use super::front::LIVE_PATTERNS;
use crate::env::Env;
use crate::error::Result;
use crate::model::event::Event;
use crate::model::id::{ConsumerNo, EventId, EventSeq, ProcessNo};
use crate::model::pattern::Pattern;
use crate::store::bus::{Due, Look, Member, Next, Outlook, Range, Sighting, Suspect, Watch};

/// Events of one range, deliveries that they become, and bytes of their bodies: what one commit
/// takes.
const MOST_EVENTS: usize = 256;
const MOST_DELIVERIES: usize = 256;
const MOST_BYTES: usize = 8 << 20;
/// Due retries of one consumer in one pass, so that one with many holds up no other.
const MOST_DUE: usize = 8;

const FRONT: &str = "SELECT seq, generation FROM lanebox_front WHERE one = 1";
const ACTIVE: &str = "SELECT id, generation, position, routing, alone, holder FROM lanebox_consumer INDEXED BY lanebox_consumer_active \
     WHERE state = 'active'";
const EVENTS: &str = "SELECT seq, org, name, recorded_at, uuid, duplicate_of IS NOT NULL FROM lanebox_event WHERE seq > ?1 AND seq <= ?2 ORDER BY seq LIMIT ?3";
const FACTS: &str = "SELECT seq, org, name, uuid FROM lanebox_event WHERE seq > ?1 AND seq <= ?2 AND duplicate_of IS NULL ORDER BY seq";
const ORG_OF_EVENT: &str = "SELECT org FROM lanebox_event WHERE seq = ?1";
const DUE: &str = "SELECT d.event, d.series, d.attempts, d.marks, d.next_at, d.holder IS NOT NULL, e.org, e.uuid \
     FROM lanebox_delivery d INDEXED BY lanebox_delivery_retry CROSS JOIN lanebox_event e ON e.seq = d.event \
     WHERE d.consumer = ?1 AND d.state = 'retry' AND d.next_at <= ?2 AND (d.holder IS NULL OR d.holder = ?3) ORDER BY d.next_at, d.event LIMIT ?4";
const NEXT_RETRY: &str = "SELECT next_at FROM lanebox_delivery INDEXED BY lanebox_delivery_retry \
     WHERE consumer = ?1 AND state = 'retry' AND next_at > ?2 ORDER BY next_at LIMIT 1";

/// The patterns of all live consumers, whoever's they are, as of one generation of their
/// definitions.
pub(super) type Live = Mutex<Option<(i64, Arc<[Pattern]>)>>;

/// A consumer of this process, as the snapshot shows it.
struct Standing {
    watch: Arc<Watch>,
    position: EventSeq,
    routing: Option<EventSeq>,
    alone: Option<EventSeq>,
    holder: Option<ProcessNo>,
}

/// Looks once.
pub(super) fn look(conn: &Connection, env: &Env, live: &Live, ask: &Look<'_>) -> Result<Outlook> {
    let snapshot = conn.unchecked_transaction()?;
    let sight = Sight { conn: &snapshot, env, ask, now: env.now_ms() };
    let (front, generation) = snapshot
        .prepare_cached(FRONT)?
        .query_row([], |row| Ok((row.get::<_, EventSeq>(0)?, row.get::<_, i64>(1)?)))?;
    let mut outlook = Outlook { generation, ..Outlook::default() };
    let standing = sight.standing()?;
    sight.due(&standing, &mut outlook)?;
    let (suspects, steady): (Vec<Standing>, Vec<Standing>) =
        standing.into_iter().partition(|standing| standing.routing.is_some());
    let (here, behind): (Vec<Standing>, Vec<Standing>) =
        steady.into_iter().partition(|standing| standing.position >= front);
    sight.lead(front, here, &sight.live(live, generation)?, &mut outlook)?;
    sight.laggards(front, behind, &mut outlook)?;
    sight.suspect(front, &suspects, &mut outlook)?;
    Ok(outlook)
}

/// One snapshot, and who looks.
struct Sight<'a> {
    conn: &'a Connection,
    env: &'a Env,
    ask: &'a Look<'a>,
    now: i64,
}

impl Sight<'_> {
    // Consumers that are paused, retired or defined otherwise by now are not ours to dispatch.
    fn standing(&self) -> Result<Vec<Standing>> {
        let mine: HashMap<ConsumerNo, &Arc<Watch>> =
            self.ask.mine.iter().map(|watch| (watch.consumer, watch)).collect();
        let mut active = self.conn.prepare_cached(ACTIVE)?;
        let mut rows = active.query([])?;
        let mut standing = Vec::new();
        while let Some(row) = rows.next()? {
            let (consumer, generation): (ConsumerNo, i64) = (row.get(0)?, row.get(1)?);
            let Some(watch) = mine.get(&consumer).filter(|w| w.generation == generation) else {
                continue;
            };
            standing.push(Standing {
                watch: (*watch).clone(),
                position: row.get(2)?,
                routing: row.get(3)?,
                alone: row.get(4)?,
                holder: row.get(5)?,
            });
        }
        standing.sort_by_key(|s| (Reverse(s.position), s.watch.consumer));
        Ok(standing)
    }

    fn live(&self, live: &Live, generation: i64) -> Result<Arc<[Pattern]>> {
        let mut live = live.lock();
        if let Some((_, patterns)) = live.as_ref().filter(|(known, _)| *known == generation) {
            return Ok(patterns.clone());
        }
        let mut names = self.conn.prepare_cached(LIVE_PATTERNS)?;
        let names = names.query_map([], |row| row.get::<_, String>(0))?;
        let names = names.collect::<rusqlite::Result<Vec<_>>>()?;
        let patterns: Arc<[Pattern]> =
            names.iter().filter_map(|name| Pattern::parse(name)).collect();
        *live = Some((generation, patterns.clone()));
        Ok(patterns)
    }

    // Any process moves the front, with or without consumers.
    fn lead(
        &self,
        front: EventSeq,
        here: Vec<Standing>,
        live: &[Pattern],
        outlook: &mut Outlook,
    ) -> Result<()> {
        let members = here.into_iter().map(Member::from).collect();
        let (mut range, full) = self.scan(front, EventSeq(i64::MAX), members)?;
        let Some(last) = range.events.last() else {
            return Ok(());
        };
        range.to = last.seq;
        for event in &mut range.events {
            event.handled = live.iter().any(|pattern| pattern.matches(&event.name));
        }
        outlook.more |= full;
        outlook.ranges.push(range);
        Ok(())
    }

    // One group of those that stand at one position, in turn, up to the front: it lands there and
    // joins.
    fn laggards(
        &self,
        front: EventSeq,
        behind: Vec<Standing>,
        outlook: &mut Outlook,
    ) -> Result<()> {
        let mut groups: Vec<(EventSeq, Vec<Member>)> = Vec::new();
        for standing in behind {
            let member = Member::from(standing);
            match groups.last_mut() {
                Some((position, group)) if *position == member.position => group.push(member),
                _ => groups.push((member.position, vec![member])),
            }
        }
        if groups.is_empty() {
            return Ok(());
        }
        let turn = self.ask.turn % groups.len();
        // Behind others, or behind a front that moves on in this very pass.
        outlook.more |= groups.len() > 1 || !outlook.ranges.is_empty();
        let (from, group) = groups.swap_remove(turn);
        let (range, full) = self.scan(from, front, group)?;
        outlook.more |= full;
        outlook.ranges.push(range);
        Ok(())
    }

    // As many events as one commit takes; whether there may be more.
    fn scan(&self, from: EventSeq, cap: EventSeq, members: Vec<Member>) -> Result<(Range, bool)> {
        let mut range = Range { from, to: cap, events: Vec::new(), members };
        let mut statement = self.conn.prepare_cached(EVENTS)?;
        let mut rows = statement.query(params![from, cap, MOST_EVENTS])?;
        let (mut deliveries, mut bytes) = (0, 0);
        while let Some(row) = rows.next()? {
            let mut event = self.sighting(row)?;
            let wanted = range.members.iter().filter(|m| m.wants(event.seq, &event.name)).count();
            if wanted > 0 && !event.duplicate {
                event.body = self.body(event.seq, event.id)?;
                deliveries += wanted;
                bytes += event.body.as_ref().map_or(0, |b| b.payload.len() + b.metadata.len());
            }
            range.to = event.seq;
            range.events.push(event);
            if deliveries >= MOST_DELIVERIES || bytes >= MOST_BYTES {
                return Ok((range, true));
            }
        }
        let full = range.events.len() == MOST_EVENTS;
        if !full {
            range.to = cap;
        }
        Ok((range, full))
    }

    fn sighting(&self, row: &Row<'_>) -> Result<Sighting> {
        let id: Option<EventId> = row.get(4)?;
        Ok(Sighting {
            seq: row.get(0)?,
            org: text(row, 1)?.unwrap_or_default(),
            name: text(row, 2)?.unwrap_or_default(),
            recorded_at: row.get(3)?,
            id: id.unwrap_or_else(|| EventId(self.env.uuid())),
            adopted: id.is_some(),
            duplicate: row.get(5)?,
            handled: true,
            body: None,
        })
    }

    fn body(&self, seq: EventSeq, id: EventId) -> Result<Option<Arc<Event>>> {
        event(self.conn, seq, id)
    }

    // One in turn. What lies beyond the front is not adopted yet: it waits for the lead.
    fn suspect(&self, front: EventSeq, suspects: &[Standing], outlook: &mut Outlook) -> Result<()> {
        let mine = |s: &&Standing| s.holder.is_none_or(|holder| holder == self.ask.process);
        let free: Vec<&Standing> = suspects.iter().filter(mine).collect();
        for i in 0..free.len() {
            let standing = free[(self.ask.turn + i) % free.len()];
            let routing = standing.routing.expect("only those are suspects");
            if let Some(next) = self.next_of(standing, routing, front)? {
                let taken = standing.holder.is_some();
                let Standing { watch, position, .. } = standing;
                let (watch, position) = (watch.clone(), *position);
                outlook.wanted.suspect = Some(Suspect { watch, position, routing, next, taken });
                outlook.more = true;
                return Ok(());
            }
        }
        // They wait for the front, which this pass moves.
        outlook.more |= !free.is_empty() && !outlook.ranges.is_empty();
        Ok(())
    }

    fn next_of(
        &self,
        standing: &Standing,
        routing: EventSeq,
        front: EventSeq,
    ) -> Result<Option<Next>> {
        if let (Some(event), None) = (standing.alone, standing.holder) {
            let mut org = self.conn.prepare_cached(ORG_OF_EVENT)?;
            let org = org.query_row([event], |row| text(row, 0)).optional()?.flatten();
            return Ok(Some(Next::Died { event, org: org.unwrap_or_else(|| "-".to_owned()) }));
        }
        let mut facts = self.conn.prepare_cached(FACTS)?;
        let mut rows = facts.query(params![standing.position, routing.min(front)])?;
        while let Some(row) = rows.next()? {
            let name = text(row, 2)?.unwrap_or_default();
            if standing.watch.wants(&name) {
                let (event, id) = (row.get(0)?, row.get(3)?);
                let org = text(row, 1)?.unwrap_or_default();
                return Ok(Some(Next::Run { event, org, body: self.body(event, id)? }));
            }
        }
        Ok((routing <= front).then_some(Next::Pass))
    }

    fn due(&self, standing: &[Standing], outlook: &mut Outlook) -> Result<()> {
        for Standing { watch, .. } in standing {
            let due = self.due_of(watch)?;
            outlook.more |= due.len() == MOST_DUE;
            outlook.wanted.due.extend(due);
            let mut next = self.conn.prepare_cached(NEXT_RETRY)?;
            let row = params![watch.consumer, self.now];
            let next: Option<i64> = next.query_row(row, |row| row.get(0)).optional()?;
            outlook.next_retry = outlook.next_retry.into_iter().chain(next).min();
        }
        Ok(())
    }

    fn due_of(&self, watch: &Arc<Watch>) -> Result<Vec<Due>> {
        let mut statement = self.conn.prepare_cached(DUE)?;
        let row = params![watch.consumer, self.now, self.ask.process, MOST_DUE];
        let mut rows = statement.query(row)?;
        let mut due = Vec::new();
        while let Some(row) = rows.next()? {
            let (event, id): (EventSeq, EventId) = (row.get(0)?, row.get(7)?);
            due.push(Due {
                watch: watch.clone(),
                event,
                org: text(row, 6)?.unwrap_or_default(),
                body: self.body(event, id)?,
                series: row.get(1)?,
                attempts: row.get(2)?,
                marks: row.get(3)?,
                next_at: row.get(4)?,
                taken: row.get(5)?,
            });
        }
        Ok(due)
    }
}

impl From<Standing> for Member {
    fn from(standing: Standing) -> Member {
        Member { watch: standing.watch, position: standing.position }
    }
}
