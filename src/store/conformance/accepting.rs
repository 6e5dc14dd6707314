//! Accepting work: keys, origins, transactions that are taken back, two handles at once.

use super::world::{World, due, laned};
use crate::Enqueued;
use crate::error::{Error, Result};
use crate::model::id::{ConsumerNo, EventId, EventSeq};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::store::jobs::Jobs;
use crate::store::sqlite::SqliteStore;

fn event(world: &World, n: u128) -> EventId {
    let id = uuid::Uuid::from_u128(n);
    world.sql(&format!(
        "INSERT INTO lanebox_event(uuid, org, name) VALUES (x'{}', 'acme', 'message.received')",
        id.simple()
    ));
    EventId(id)
}

fn jobs(world: &World) -> i64 {
    world.one("SELECT count(*) FROM lanebox_job")
}

// fault: once-is-forgotten
#[test]
fn e25_the_same_source_in_two_orgs_is_two_jobs_and_again_it_is_the_first() {
    let world = World::new();
    let source = event(&world, 1);
    let of = |org: &str| NewJob::raw("reply", "{}", Lane::of("ann")).org(org).once_for(source);
    let first = world.accept(of("acme"));
    let other = world.accept(of("globex"));
    assert!(matches!((first, other), (Enqueued::New(_), Enqueued::New(_))), "{first:?} {other:?}");
    assert_eq!(world.accept(of("acme")), Enqueued::Existing(first.id()));
    // Whatever became of it: never again.
    let held = world.take();
    let _done = world.done(held);
    assert_eq!(world.accept(of("acme")), Enqueued::Existing(first.id()));
}

// fault: event-is-not-found, once-is-forgotten
#[test]
fn e24_a_job_once_for_an_event_names_it_as_its_cause_and_another_payload_is_a_conflict() {
    let world = World::new();
    let source = event(&world, 1);
    let reply = |payload: &str| NewJob::raw("reply", payload, Lane::of("ann")).org("acme");
    let first = world.accept(reply("{}").once_for(source));
    assert_eq!(world.one::<i64>("SELECT source_event FROM lanebox_job"), 1);
    let other = world.store.enqueue(vec![reply("{\"n\":2}").once_for(source)]);
    assert!(matches!(other, Err(Error::Conflict { .. })), "{other:?}");
    // The name is the kind's unless another one is given; then both are jobs of the event.
    let named = |name: &str| reply("{}").once_for_named(source, name);
    assert_eq!(world.accept(named("reply")), Enqueued::Existing(first.id()));
    assert!(matches!(world.accept(named("second")), Enqueued::New(_)));
    let unknown = EventId(uuid::Uuid::from_u128(9));
    let refused = world.store.enqueue(vec![reply("{}").once_for(unknown)]);
    assert!(matches!(refused, Err(Error::NotFound { what: "event", .. })), "{refused:?}");
    assert_eq!(jobs(&world), 2);
    // Its name is remembered from its last use on.
    let used = || world.one::<i64>("SELECT used_at FROM lanebox_once WHERE name = 'reply'");
    let accepted_at = used();
    world.clock.advance(30 * 86_400_000);
    assert_eq!(world.accept(reply("{}").once_for(source)), Enqueued::Existing(first.id()));
    assert_eq!(used(), accepted_at + 30 * 86_400_000);
    world.is_sound();
}

// fault: job-key-is-forgotten, key-ends-with-its-horizon
#[test]
fn j20_a_dedupe_key_answers_the_first_job_until_its_horizon_also_after_done() {
    let world = World::new();
    let keyed = || laned("ann").dedupe("order 7");
    let first = world.accept(keyed());
    assert_eq!(world.accept(keyed()), Enqueued::Existing(first.id()));
    let held = world.take();
    let _done = world.done(held);
    assert_eq!(world.accept(keyed()), Enqueued::Existing(first.id()));
    world.clock.advance(91 * 86_400_000);
    let second = world.accept(keyed());
    assert_ne!(second.id(), first.id(), "its horizon is over");
    // Trap 14: it outlives its horizon while its job lives, else a long wait would make a twin.
    world.clock.advance(91 * 86_400_000);
    assert_eq!(world.accept(keyed()), Enqueued::Existing(second.id()));
}

// fault: kind-is-not-compared
#[test]
fn a_known_key_of_a_job_of_another_kind_is_a_conflict() {
    let world = World::new();
    let first = world.accept(laned("ann").dedupe("order 7"));
    let bill = NewJob::raw("bill", "{}", Lane::of("ann")).org("acme").dedupe("order 7");
    let answer = world.store.enqueue(vec![bill]);
    assert!(matches!(answer, Err(Error::Conflict { .. })), "{answer:?}");
    assert_eq!(world.taken(5), [world.number(first.id())]);
}

// fault: enqueue-commits
#[test]
fn e29_a_job_of_a_transaction_that_is_taken_back_does_not_exist() {
    let world = World::new();
    let taken_back: Result<()> = world.store.transaction(|tx| {
        let _new = tx.enqueue(&laned("ann"))?;
        Err(Error::invalid("deal", "the host changed its mind"))
    });
    assert!(taken_back.is_err());
    assert_eq!(jobs(&world), 0);
    world.is_sound();
}

// fault: refusal-ends-the-transaction
#[test]
fn e30_after_a_refused_duplicate_the_transaction_is_usable() {
    let world = World::new();
    world.enqueue(laned("ann").dedupe("order 7"));
    let other = NewJob::raw("reply", "{\"n\":2}", Lane::NONE).org("acme").dedupe("order 7");
    let enqueued = world.store.transaction(|tx| {
        assert!(matches!(tx.enqueue(&other), Err(Error::Conflict { .. })));
        tx.enqueue(&laned("bob"))
    });
    assert!(matches!(enqueued, Ok(Enqueued::New(_))), "{enqueued:?}");
    assert_eq!(jobs(&world), 2);
    world.is_sound();
}

// fault: ordinal-is-ignored
#[test]
fn e126_two_jobs_of_one_route_and_the_same_kind_of_two_consumers_all_run() {
    let world = World::new();
    event(&world, 1);
    let born = |consumer: i64, ordinal: u32| {
        let mut job = laned("ann");
        job.origin.event = Some(EventSeq(1));
        job.origin.delivery = Some((ConsumerNo(consumer), ordinal));
        job
    };
    let all = [(1, 0), (1, 1), (2, 0)];
    let first: Vec<Enqueued> = all.iter().map(|&(c, n)| world.accept(born(c, n))).collect();
    assert!(first.iter().all(|answer| matches!(answer, Enqueued::New(_))), "{first:?}");
    for (&(consumer, ordinal), first) in all.iter().zip(&first) {
        assert_eq!(world.accept(born(consumer, ordinal)), Enqueued::Existing(first.id()));
    }
    for _ in all {
        let held = world.take();
        let _done = world.done(held);
    }
    assert_eq!(world.all::<String>("SELECT DISTINCT state FROM lanebox_job_state"), ["done"]);
}

// fault: enqueue-commits
#[test]
fn r38_a_key_whose_transaction_is_taken_back_is_free_for_the_next() {
    let world = World::new();
    let other = world.beside();
    let keyed = || laned("ann").dedupe("order 7");
    let taken_back: Result<()> = world.store.transaction(|tx| {
        let _new = tx.enqueue(&keyed())?;
        // The other handle waits for the lock, so it cannot be told of a job that will not be.
        Err(Error::invalid("deal", "the host changed its mind"))
    });
    assert!(taken_back.is_err());
    let enqueued = other.enqueue(vec![keyed()]).expect("the key is free");
    assert!(matches!(enqueued[..], [Enqueued::New(_)]), "{enqueued:?}");
    assert_eq!(jobs(&world), 1);
}

// fault: batch-keeps-its-half
#[test]
fn r38_a_batch_that_fails_half_way_stores_none_of_it() {
    let world = World::new();
    let mut late = laned("bob");
    late.expires_at = Some(world.now());
    let refused = world.store.enqueue(vec![laned("ann").dedupe("order 7"), late]);
    assert!(matches!(refused, Err(Error::Invalid { .. })), "{refused:?}");
    assert_eq!(jobs(&world), 0);
    assert!(matches!(world.accept(laned("ann").dedupe("order 7")), Enqueued::New(_)));
    world.is_sound();
}

/// Jobs of every kind that can stand in one call, several of them again.
fn of_every_kind(world: &World, n: i64) -> NewJob {
    let job = NewJob::raw(
        if n % 5 < 3 { "reply" } else { "note" },
        format!("{{\"n\":{}}}", n % 4),
        if n % 3 == 0 { Lane::NONE } else { Lane::of(format!("lane {}", n % 4)) },
    );
    let job = job.org(if n % 7 < 4 { "acme" } else { "globex" });
    match n % 11 {
        2 => due(job, world.now() + 1_000 * n),
        4 | 5 => job.dedupe(format!("key {} {}", n % 4, n % 5 < 3)),
        // The same key twice running: the first of them is not written yet.
        6 | 7 => laned("ann").unique(format!("key {}", n / 22)),
        8 => job.priority(100),
        9 => job.subject("ann"),
        10 => NewJob { expires_at: Some(world.now() + 5_000), ..job },
        _ => job,
    }
}

// fault: rows-are-asked-unwritten, org-of-the-job-before
#[test]
fn many_jobs_in_one_call_are_what_they_are_one_by_one() {
    let (together, apart) = (World::new(), World::new());
    let all = |world| (0..100).map(|n| of_every_kind(world, n)).collect::<Vec<_>>();
    let of_one_call = together.store.enqueue(all(&together)).expect("accepted");
    let of_many: Vec<_> = all(&apart).into_iter().map(|job| apart.accept(job)).collect();
    // The ids are chance; which jobs were there before is not.
    let there = |world: &World, answers: &[Enqueued]| {
        let no =
            |answer: &Enqueued| (matches!(answer, Enqueued::New(_)), world.number(answer.id()));
        answers.iter().map(no).collect::<Vec<_>>()
    };
    assert_eq!(there(&together, &of_one_call), there(&apart, &of_many));
    assert!(of_many.iter().any(|answer| matches!(answer, Enqueued::Existing(_))));
    for table in [
        "SELECT json_array(id, org, kind, version, lane, subject, priority, run_at, max_attempts, expires_at, created_at, payload) FROM lanebox_job",
        "SELECT json_array(kind, org, priority, run_at, id) FROM lanebox_ready",
        "SELECT json_array(lane, priority, run_at, id, kind) FROM lanebox_open",
        "SELECT json_array(run_at, id, lane) FROM lanebox_scheduled",
        "SELECT json_array(org, hex(key_hmac), job) FROM lanebox_job_unique ORDER BY 1",
        "SELECT json_array(id, name) FROM lanebox_org",
        "SELECT json_array(id, name) FROM lanebox_kind",
        "SELECT json_array(id, org, name) FROM lanebox_lane",
    ] {
        assert_eq!(together.all::<String>(table).len(), apart.all::<String>(table).len());
        if !table.contains("hex") {
            assert_eq!(together.all::<String>(table), apart.all::<String>(table), "{table}");
        }
    }
    together.is_sound();
}

// fault: job-key-is-forgotten
#[test]
fn r39_two_handles_that_import_the_same_keys_make_each_job_once() {
    let world = World::unguarded();
    let other = world.beside_unguarded();
    const KEYS: usize = 400;
    let import = |store: &SqliteStore| {
        let keyed = |n: usize| laned("ann").dedupe(format!("row {n}"));
        let answers = (0..KEYS).map(|n| store.enqueue(vec![keyed(n)]).expect("accepted")[0]);
        answers.filter(|answer| matches!(answer, Enqueued::New(_))).count()
    };
    let new: usize = std::thread::scope(|scope| {
        let imports = [scope.spawn(|| import(&world.store)), scope.spawn(|| import(&other))];
        imports.into_iter().map(|import| import.join().expect("no panic")).sum()
    });
    assert_eq!((new, jobs(&world)), (KEYS, 400));
    world.is_sound();
}

// fault: blank-name-is-taken
#[test]
fn r36_a_lane_has_a_name_or_is_said_to_be_none() {
    let world = World::new();
    for name in ["", " ", " ann", "ann\t", "a\0b", &"x".repeat(201)] {
        let refused = world.store.enqueue(vec![laned(name)]);
        assert!(matches!(refused, Err(Error::Invalid { .. })), "{name:?}: {refused:?}");
    }
    assert_eq!(jobs(&world), 0);
    world.enqueue(laned(&"x".repeat(200)));
    world.enqueue(NewJob::raw("reply", "{}", Lane::NONE).org("acme"));
    assert_eq!(world.taken(5).len(), 2);
}
