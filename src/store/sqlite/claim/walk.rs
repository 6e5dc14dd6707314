//! Who is next: orgs take turns, one job a turn; within an org by priority, place in line, id.
//! Every step is a seek, so the cost does not depend on what waits behind.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rusqlite::params;

use super::Running;
use super::candidate::{self, Candidate, Most};
use super::passed::Passed;
use crate::error::Result;
use crate::model::id::{JobNo, KindNo, OrgNo};
use crate::store::jobs::Ask;
use crate::store::sqlite::place::Place;
use crate::store::sqlite::tx::Tx;

const KIND_LOOP: &str =
    "SELECT kind FROM lanebox_ready WHERE alone = ?1 AND kind > ?2 ORDER BY kind LIMIT 1";
const KIND_GET: &str = "SELECT cap, paused, owed FROM lanebox_kind WHERE id = ?1";
// A scalar comparison: (kind, org) > (?, ?) looks the same in the plan and walks the whole bucket.
const ORG_LOOP: &str = "SELECT org FROM lanebox_ready WHERE alone = ?1 AND kind = ?2 AND org > ?3 ORDER BY org LIMIT 1";
const BUCKET_HAS: &str =
    "SELECT 1 FROM lanebox_ready WHERE alone = ?1 AND kind = ?2 AND org = ?3 LIMIT 1";
const ORG_GET: &str = "SELECT cap, paused, name FROM lanebox_org WHERE id = ?1";
const KIND_OWED: &str = "UPDATE lanebox_kind SET owed = ?2 WHERE id = ?1";

/// A kind of which something is ready.
struct Line {
    kind: KindNo,
    /// How many more its cap allows; `None` without a cap.
    room: Option<i64>,
    /// The org that a full cap made wait first, as stored and as it is to be stored.
    stored_owed: Option<OrgNo>,
    owed: Option<OrgNo>,
    short: bool,
    /// The next org of the circle that has something of this kind.
    next: Option<OrgNo>,
}

/// What is ready of one kind in one org, as far as it was read.
#[derive(Default)]
struct Bucket {
    rows: VecDeque<Candidate>,
    ended: bool,
}

/// An org as this claim knows it.
struct Org {
    /// Jobs that it may still run: far below zero matters as little as far above.
    room: i64,
    name: Arc<str>,
}

/// The turn that the walk is in.
enum Turn {
    /// Once around the circle of orgs; `wrapped` after its highest org.
    Circle { wrapped: bool },
    /// Again and again through the orgs that may have more, until a round serves nobody.
    Rounds { at: usize, served: bool },
}

pub(super) struct Walk {
    alone: bool,
    from: OrgNo,
    lines: Vec<Line>,
    turn: Turn,
    visits_left: usize,
    seen: Vec<OrgNo>,
    orgs: HashMap<OrgNo, Org>,
    running_of_org: HashMap<OrgNo, i64>,
    buckets: HashMap<(KindNo, OrgNo), Bucket>,
    passed: Passed,
    visited: OrgNo,
    served: Option<OrgNo>,
}

impl Walk {
    /// Whether a job is ready that may have killed its process.
    pub(super) fn has_suspects(tx: &Tx<'_>) -> Result<bool> {
        tx.has(KIND_LOOP, params![true, KindNo(0)])
    }

    /// Begins behind the org that was served last, with the kinds that may run here.
    pub(super) fn start(
        tx: &Tx<'_>,
        ask: &Ask,
        running: &Running,
        from: OrgNo,
        alone: bool,
    ) -> Result<Walk> {
        let mut walk = Walk {
            alone,
            from,
            lines: Vec::new(),
            turn: Turn::Circle { wrapped: false },
            visits_left: 64 + 4 * (ask.idle + ask.ahead),
            seen: Vec::new(),
            orgs: HashMap::new(),
            running_of_org: running.of_org.clone(),
            buckets: HashMap::new(),
            passed: Passed::default(),
            visited: from,
            served: None,
        };
        let mut after = KindNo(0);
        while let Some(kind) = tx.one(KIND_LOOP, params![alone, after], |row| row.get(0))? {
            after = kind;
            if let Some(handled) = ask.kinds.iter().find(|handled| handled.kind == kind) {
                walk.open_line(tx, kind, handled.short, running)?;
            }
        }
        walk.point(tx, from)?;
        Ok(walk)
    }

    fn open_line(
        &mut self,
        tx: &Tx<'_>,
        kind: KindNo,
        short: bool,
        running: &Running,
    ) -> Result<()> {
        let found = tx.one(KIND_GET, [kind], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, bool>(1)?, row.get(2)?))
        })?;
        let Some((cap, false, owed)) = found else {
            return Ok(());
        };
        let room = cap.map(|cap| cap - running.of_kind.get(&kind).copied().unwrap_or(0));
        if room.is_none_or(|room| room > 0) {
            self.lines.push(Line { kind, room, stored_owed: owed, owed, short, next: None });
        }
        Ok(())
    }

    /// From here on only kinds that may be taken ahead of need.
    pub(super) fn only_short(&mut self) {
        for line in self.lines.iter_mut().filter(|line| !line.short) {
            line.room = Some(0);
        }
    }

    /// The next candidate, if there is one; `left` is how many the caller still wants.
    pub(super) fn next(&mut self, tx: &Tx<'_>, left: Most) -> Result<Option<Candidate>> {
        loop {
            let org = match self.turn {
                Turn::Circle { .. } => match self.next_org(tx)? {
                    Some(org) => org,
                    None => {
                        self.turn = Turn::Rounds { at: 0, served: true };
                        continue;
                    }
                },
                Turn::Rounds { at, served } if at < self.seen.len() => {
                    self.turn = Turn::Rounds { at: at + 1, served };
                    self.seen[at]
                }
                Turn::Rounds { served: false, .. } => return Ok(None),
                Turn::Rounds { .. } => {
                    self.turn = Turn::Rounds { at: 0, served: false };
                    continue;
                }
            };
            if let Some(candidate) = self.best_of(tx, org, left)? {
                if let Turn::Rounds { served, .. } = &mut self.turn {
                    *served = true;
                }
                return Ok(Some(candidate));
            }
        }
    }

    // The nearest org of the circle that has something; it gets its buckets, and the pointers move
    // on.
    fn next_org(&mut self, tx: &Tx<'_>) -> Result<Option<OrgNo>> {
        loop {
            let nearest = self.lines.iter().filter_map(|line| line.next).min();
            let wrapped = matches!(self.turn, Turn::Circle { wrapped: true });
            let org = match nearest {
                Some(org) if self.visits_left > 0 && !(wrapped && org > self.from) => org,
                None if self.visits_left > 0 && !wrapped => {
                    self.turn = Turn::Circle { wrapped: true };
                    self.point(tx, OrgNo(0))?;
                    continue;
                }
                _ => return Ok(None),
            };
            self.visits_left -= 1;
            self.visited = org;
            self.seen.push(org);
            for i in 0..self.lines.len() {
                if self.lines[i].next == Some(org) {
                    self.buckets.insert((self.lines[i].kind, org), Bucket::default());
                    self.lines[i].next = self.first_after(tx, self.lines[i].kind, org)?;
                }
            }
            return Ok(Some(org));
        }
    }

    fn point(&mut self, tx: &Tx<'_>, after: OrgNo) -> Result<()> {
        for i in 0..self.lines.len() {
            self.lines[i].next = self.first_after(tx, self.lines[i].kind, after)?;
        }
        Ok(())
    }

    fn first_after(&mut self, tx: &Tx<'_>, kind: KindNo, after: OrgNo) -> Result<Option<OrgNo>> {
        self.passed.leave(tx)?;
        tx.one(ORG_LOOP, params![self.alone, kind, after], |row| row.get(0))
    }

    // The best head of the org's open kinds whose turn it is.
    fn best_of(&mut self, tx: &Tx<'_>, org: OrgNo, left: Most) -> Result<Option<Candidate>> {
        if self.room_of(tx, org)? <= 0 {
            return Ok(None);
        }
        let mut best: Option<(usize, Order)> = None;
        for i in 0..self.lines.len() {
            if self.lines[i].room.is_some_and(|room| room <= 0) || !self.may_serve(tx, i, org)? {
                continue;
            }
            if let Some(head) = self.head(tx, i, org, left)?
                && best.is_none_or(|(_, best)| head < best)
            {
                best = Some((i, head));
            }
        }
        let Some((chosen, _)) = best else {
            return Ok(None);
        };
        let bucket = self.buckets.get_mut(&(self.lines[chosen].kind, org));
        Ok(bucket.expect("its head was read").rows.pop_front())
    }

    // A kind that a full cap made an org wait for is nobody else's while that org can be served.
    // Suspects pass beside that: they are few, and the turn is kept for the org's ordinary work.
    fn may_serve(&mut self, tx: &Tx<'_>, i: usize, org: OrgNo) -> Result<bool> {
        let owed = self.lines[i].owed.filter(|&owed| owed != org && !self.alone);
        let Some(owed) = owed else {
            return Ok(true);
        };
        self.passed.leave(tx)?;
        let waits = tx.has(BUCKET_HAS, params![self.alone, self.lines[i].kind, owed])?;
        if waits && self.room_of(tx, owed)? > 0 {
            return Ok(false);
        }
        self.lines[i].owed = None;
        Ok(true)
    }

    fn head(&mut self, tx: &Tx<'_>, i: usize, org: OrgNo, left: Most) -> Result<Option<Order>> {
        let kind = self.lines[i].kind;
        let live = self.buckets.values().filter(|bucket| !bucket.ended).count().max(1);
        let Some(bucket) = self.buckets.get_mut(&(kind, org)) else {
            return Ok(None);
        };
        if bucket.rows.is_empty() && !bucket.ended {
            // Without what was passed the bucket's first rows are the next ones.
            self.passed.leave(tx)?;
            let most = Most { all: left.all / live + 1, ..left };
            bucket.rows = candidate::first(tx, self.alone, kind, org, most)?;
            bucket.ended = bucket.rows.is_empty();
        }
        Ok(bucket.rows.front().map(|head| order(&head.place)))
    }

    fn room_of(&mut self, tx: &Tx<'_>, org: OrgNo) -> Result<i64> {
        if let Some(known) = self.orgs.get(&org) {
            return Ok(known.room);
        }
        let found = tx.one(ORG_GET, [org], |row| {
            Ok((row.get::<_, Option<i64>>(0)?, row.get::<_, bool>(1)?, row.get(2)?))
        })?;
        let (cap, paused, name) = found.unwrap_or((Some(0), true, Arc::default()));
        let running = self.running_of_org.get(&org).copied().unwrap_or(0);
        let room = if paused { 0 } else { cap.map_or(i64::MAX, |cap| cap - running) };
        self.orgs.insert(org, Org { room, name });
        Ok(room)
    }

    /// What people call the org of a candidate.
    pub(super) fn name_of(&self, org: OrgNo) -> Arc<str> {
        self.orgs.get(&org).map(|known| known.name.clone()).unwrap_or_default()
    }

    /// The candidate leaves `ready`, with others behind it or when somebody looks there.
    pub(super) fn pass(&mut self, tx: &Tx<'_>, candidate: &Place) -> Result<()> {
        self.passed.pass(tx, candidate)
    }

    /// Whatever was passed leaves `ready`: something may become claimable.
    pub(super) fn leave_passed(&mut self, tx: &Tx<'_>) -> Result<()> {
        self.passed.leave(tx)
    }

    /// The candidate was taken: it counts against its caps.
    pub(super) fn took(&mut self, tx: &Tx<'_>, taken: &Place) -> Result<()> {
        self.served = Some(taken.org);
        if let Some(org) = self.orgs.get_mut(&taken.org) {
            org.room = org.room.saturating_sub(1);
        }
        if self.alone {
            return Ok(());
        }
        for line in self.lines.iter_mut().filter(|line| line.owed == Some(taken.org)) {
            // Served now, or it chose something better; a kind without room was no choice.
            if line.room != Some(0) {
                line.owed = None;
            }
        }
        let Some(i) = self.lines.iter().position(|line| line.kind == taken.kind) else {
            return Ok(());
        };
        if let Some(room) = &mut self.lines[i].room {
            *room -= 1;
            if *room == 0 {
                self.lines[i].owed = self.next_in_circle(tx, taken.kind, taken.org)?;
            }
        }
        Ok(())
    }

    // Without this, an org that comes to its turn while the cap is full would never be served.
    fn next_in_circle(&mut self, tx: &Tx<'_>, kind: KindNo, org: OrgNo) -> Result<Option<OrgNo>> {
        let next = match self.first_after(tx, kind, org)? {
            Some(next) => Some(next),
            None => self.first_after(tx, kind, OrgNo(0))?,
        };
        Ok(next.filter(|&next| next != org))
    }

    /// The candidate waits, and what stands behind it with it.
    pub(super) fn close(&mut self, candidate: &Place) {
        if let Some(bucket) = self.buckets.get_mut(&(candidate.kind, candidate.org)) {
            bucket.rows.clear();
            bucket.ended = true;
        }
    }

    /// Whether it has looked at as many orgs as one claim may.
    pub(super) fn is_spent(&self) -> bool {
        self.visits_left == 0
    }

    /// Stores what is owed. Where the next claim begins, if that has changed: behind the org that
    /// was served last, or behind the last one visited when the visits of this claim were used up.
    pub(super) fn end(mut self, tx: &Tx<'_>) -> Result<Option<OrgNo>> {
        self.passed.leave(tx)?;
        for line in self.lines.iter().filter(|line| line.owed != line.stored_owed) {
            tx.run(KIND_OWED, params![line.kind, line.owed])?;
        }
        Ok(if self.visits_left == 0 { Some(self.visited) } else { self.served })
    }
}

type Order = (i64, i64, JobNo);

fn order(place: &Place) -> Order {
    (place.priority, place.run_at, place.id)
}
