//! What a claim costs, in statements and steps of SQLite's machine, beside a backlog of 100,000
//! that cannot run: what it costs without. No clock is asked, so the numbers are the same
//! everywhere.

use std::cell::RefCell;
use std::collections::HashMap;

use rusqlite::StatementStatus;
use rusqlite::trace::{TraceEvent, TraceEventCodes};

use super::world::{World, due, laned};
use crate::model::id::KindNo;
use crate::model::job::NewJob;
use crate::model::lane::Lane;

const MANY: usize = 100_000;

thread_local! {
    static COUNTED: RefCell<Counted> = RefCell::default();
}

/// Statements and steps so far on this thread.
#[derive(Default)]
struct Counted {
    statements: i64,
    steps: i64,
    /// The counter of a statement grows as long as it is kept in hand.
    last: HashMap<String, i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Cost {
    statements: i64,
    steps: i64,
}

impl Cost {
    #[track_caller]
    fn is_like(self, other: Cost) {
        let near = |a: i64, b: i64| a * 10 <= b * 12 + 100;
        let same = near(self.statements, other.statements) && near(self.steps, other.steps);
        assert!(same, "{self:?} with the backlog, {other:?} without");
    }
}

fn count(event: TraceEvent<'_>) {
    if let TraceEvent::Profile(statement, _) = event {
        let steps = i64::from(statement.get_status(StatementStatus::VmStep));
        COUNTED.with_borrow_mut(|counted| {
            let before = counted.last.insert(statement.sql().into_owned(), steps).unwrap_or(0);
            counted.statements += 1;
            counted.steps += if steps >= before { steps - before } else { steps };
        });
    }
}

/// A file whose writer counts; the guards of other tests would walk tables themselves.
fn counting() -> World {
    let world = World::unguarded();
    let codes = TraceEventCodes::SQLITE_TRACE_PROFILE;
    world.store.on_writer(|conn| conn.trace_v2(codes, Some(count)));
    world
}

fn cost_of<T>(what: impl FnOnce() -> T) -> (T, Cost) {
    let now = || COUNTED.with_borrow(|c| (c.statements, c.steps));
    let (statements, steps) = now();
    let answer = what();
    let (after, steps_after) = now();
    (answer, Cost { statements: after - statements, steps: steps_after - steps })
}

/// A claim of ten jobs of an org of their own, accepted for it; they are done afterwards.
fn claim_of_ten(world: &World) -> Cost {
    for _ in 0..10 {
        world.enqueue(NewJob::raw("chat", "{}", Lane::NONE).org("globex"));
    }
    let mut ask = world.ask(10);
    ask.kinds.retain(|handled| handled.kind != UNHANDLED);
    let (taken, cost) = cost_of(|| world.claim_as(ask));
    let chats = taken.iter().filter(|claimed| &*claimed.org_name == "globex").count();
    assert!(chats >= 9, "the others are served: {chats}");
    for claimed in taken {
        let _done = world.done(claimed.held);
    }
    cost
}

const REPLY: i64 = 1;
const UNHANDLED: KindNo = KindNo(3);

/// Orgs `acme` (2) and `globex` (3), kinds `reply` (1), `chat` (2), `strange` (3), all used once.
fn settled() -> World {
    let world = counting();
    for (kind, org) in [("reply", "acme"), ("chat", "globex"), ("strange", "acme")] {
        world.enqueue(NewJob::raw(kind, "{}", Lane::NONE).org(org));
    }
    for claimed in world.claim(3) {
        let _done = world.done(claimed.held);
    }
    claim_of_ten(&world);
    world
}

/// Writes `MANY` jobs of `acme` and where they stand.
fn fill(world: &World, kind: i64, lane: Option<i64>, priority: i64) {
    let lane_text = lane.map_or("NULL".to_owned(), |lane| lane.to_string());
    let from: i64 = world.one("SELECT max(id) FROM lanebox_job");
    let place = match lane {
        Some(_) => {
            "lanebox_open(lane, priority, run_at, id, kind) SELECT lane, priority, run_at, id, kind"
        }
        None => {
            "lanebox_ready(alone, kind, org, priority, run_at, id) SELECT 0, kind, org, priority, run_at, id"
        }
    };
    world.sql(&format!(
        "INSERT INTO lanebox_job(uuid, org, kind, lane, priority, run_at, max_attempts, created_at, payload) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {MANY}) \
         SELECT randomblob(16), 2, {kind}, {lane_text}, {priority}, {now}, 10, 0, '{{}}' FROM n; \
         INSERT INTO {place} FROM lanebox_job WHERE id > {from};",
        now = world.now()
    ));
}

#[test]
fn the_count_sees_a_walk() {
    let world = settled();
    let walk = || world.sql("UPDATE lanebox_ready SET org = org WHERE priority = 7");
    walk();
    let ((), small) = cost_of(walk);
    fill(&world, REPLY, None, 500);
    let ((), large) = cost_of(walk);
    assert!(large.steps > small.steps + 50_000, "{small:?} {large:?}");
}

// R32, and 200,000 jobs behind one lane in the design.
#[test]
fn r32_a_claim_beside_a_busy_lane_with_a_long_line_costs_what_it_costs_without() {
    let world = settled();
    world.enqueue(laned("hot"));
    let busy = world.take();
    let without = claim_of_ten(&world);
    fill(&world, REPLY, busy.lane.map(|lane| lane.0), 500);
    claim_of_ten(&world).is_like(without);
    let (_, accepted) = cost_of(|| world.enqueue(laned("hot")));
    let (_, ended) = cost_of(|| world.done(busy));
    assert!(accepted.steps < 2_000 && ended.steps < 2_000, "{accepted:?} {ended:?}");
    world.is_sound();
}

// fault: claim-reads-history
#[test]
fn e39_50_000_jobs_that_have_ended_cost_a_claim_its_count_and_its_clock_nothing() {
    let world = settled();
    world.enqueue(due(NewJob::raw("reply", "{}", Lane::NONE).org("acme"), world.now() + 5_000));
    // Half of it finds nothing, so that it counts what runs and asks for the next due time.
    let claims = || (claim_of_ten(&world), cost_of(|| world.claim(5)));
    let (ten, (none, nothing)) = claims();
    assert_eq!(none, []);
    let from: i64 = world.one("SELECT max(id) FROM lanebox_job");
    world.sql(&format!(
        "INSERT INTO lanebox_job(uuid, org, kind, priority, run_at, max_attempts, created_at, payload) \
         WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) \
         SELECT randomblob(16), 2, {REPLY}, 500, 0, 10, 0, '{{}}' FROM n; \
         INSERT INTO lanebox_finished(id, state, finished_at, series, attempts, lost) \
         SELECT id, 'done', 0, 1, 1, 0 FROM lanebox_job WHERE id > {from};"
    ));
    let (ten_after, (_, nothing_after)) = claims();
    ten_after.is_like(ten);
    nothing_after.is_like(nothing);
}

// fault: claim-walks-all-kinds
#[test]
fn e127_a_capped_kind_with_a_backlog_costs_another_kind_nothing() {
    let world = settled();
    world.enqueue(NewJob::raw("reply", "{}", Lane::NONE).org("acme"));
    let _running = world.take();
    world.sql(&format!("UPDATE lanebox_kind SET cap = 1 WHERE id = {REPLY}"));
    let without = claim_of_ten(&world);
    fill(&world, REPLY, None, 0);
    claim_of_ten(&world).is_like(without);
}

// fault: claim-walks-all-kinds
#[test]
fn e127_a_paused_kind_with_a_backlog_costs_another_kind_nothing() {
    let world = settled();
    world.sql(&format!("UPDATE lanebox_kind SET paused = 1 WHERE id = {REPLY}"));
    let without = claim_of_ten(&world);
    fill(&world, REPLY, None, 0);
    claim_of_ten(&world).is_like(without);
}

// fault: claim-walks-all-kinds
#[test]
fn e127_a_kind_without_a_worker_here_costs_another_kind_nothing() {
    let world = settled();
    let without = claim_of_ten(&world);
    fill(&world, UNHANDLED.0, None, 0);
    claim_of_ten(&world).is_like(without);
    // Left, never burned: no attempt was used (E55, J42).
    assert_eq!(world.one::<usize>("SELECT count(*) FROM lanebox_ready WHERE kind = 3"), MANY);
}

// fault: first-org-first
#[test]
fn e128_an_org_with_100_000_urgent_jobs_does_not_hold_up_another() {
    let world = settled();
    world.enqueue(NewJob::raw("chat", "{}", Lane::NONE).org("acme").priority(0));
    let without = claim_of_ten(&world);
    fill(&world, REPLY, None, 0);
    world.sql("UPDATE lanebox_org SET cap = 1 WHERE name = 'acme'");
    claim_of_ten(&world).is_like(without);
    world.sql("UPDATE lanebox_org SET cap = NULL WHERE name = 'acme'");
    // One job of low priority among them: the very next claim of three orgs takes it.
    let low = world.enqueue(NewJob::raw("chat", "{}", Lane::NONE).org("initech").priority(999));
    let (taken, cost) = cost_of(|| world.taken(3));
    assert!(taken.contains(&low), "orgs take turns");
    assert!(cost.steps < 3_000, "{cost:?}");
}

// Whoever visits many orgs that may not run now stops after its budget, and goes on from there.
#[test]
fn a_claim_before_1_000_paused_orgs_is_bounded_and_the_next_one_goes_on() {
    let world = settled();
    world.sql(&format!(
        "INSERT INTO lanebox_org(name, paused) WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT 'org ' || i, 1 FROM n; \
         INSERT INTO lanebox_job(uuid, org, kind, priority, run_at, max_attempts, created_at, payload) SELECT randomblob(16), id, 1, 500, {now}, 10, 0, '{{}}' FROM lanebox_org WHERE id > 3; \
         INSERT INTO lanebox_ready SELECT 0, kind, org, priority, run_at, id FROM lanebox_job WHERE org > 3; \
         INSERT INTO lanebox_org(name) VALUES ('last');",
        now = world.now()
    ));
    let last = world.enqueue(NewJob::raw("reply", "{}", Lane::NONE).org("last"));
    let mut claims = 0;
    let taken = loop {
        let (taken, cost) = cost_of(|| world.taken(1));
        claims += 1;
        assert!(cost.statements < 300, "{cost:?}");
        assert!(claims < 20, "each claim goes on where the one before ended");
        if !taken.is_empty() {
            break taken;
        }
    };
    assert_eq!(taken, [last]);
}
