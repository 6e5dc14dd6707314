//! What an answer makes of its job, of its lane, and of nothing else.

use super::world::{MORNING, World, lane_less, laned, postpone, retry};
use crate::Enqueued;
use crate::model::id::{Held, JobNo, LaneNo};
use crate::model::job::NewJob;
use crate::model::lane::Lane;
use crate::model::verdict::End;
use crate::store::jobs::{Cancelled, Ended, Jobs, Requeued, Round};

fn dead() -> End {
    End::Dead("no such number".to_owned())
}

fn taken(world: &World, job: NewJob) -> Held {
    world.enqueue(job);
    world.take()
}

// fault: retry-at-once
#[test]
fn e51_j23_a_failure_waits_keeps_the_newest_error_and_counts_one_attempt() {
    let world = World::new();
    let held = taken(&world, laned("ann"));
    assert_eq!(world.end(held, retry(5_000)), Ended::Waits { due: MORNING + 5_000 });
    assert_eq!(world.one::<String>("SELECT error FROM lanebox_tried"), "the network is down");
    world.clock.advance(5_000);
    let held = world.take();
    let newer = End::Retry { error: "busy".to_owned(), wait_ms: 0 };
    let _waits = world.end(held, newer);
    assert_eq!(world.one::<String>("SELECT error FROM lanebox_job_state"), "busy");
    // J22, J23: success clears the error and the lease.
    let held = world.take();
    assert_eq!((held.attempts, world.done(held)), (3, Ended::Done));
    assert_eq!(world.one::<Option<String>>("SELECT error FROM lanebox_job_state"), None);
    assert_eq!(world.held(), []);
}

// J41
// fault: attempts-without-end, dead-is-silent
#[test]
fn j22_j24_a_failure_on_the_last_attempt_is_dead_with_its_time_error_and_notice() {
    let world = World::new();
    let held = taken(&world, laned("ann").max_attempts(1));
    assert_eq!(world.end(held, retry(5_000)), Ended::Dead);
    let row = "SELECT f.state || ' ' || f.finished_at || ' ' || f.attempts || ' ' || f.error || ' ' || n.kind || ' ' || n.reason \
         FROM lanebox_finished f JOIN lanebox_notice n ON n.id = f.notice";
    let said = format!("dead {MORNING} 1 the network is down job.dead the network is down");
    assert_eq!(world.one::<String>(row), said);
    assert_eq!(world.held(), []);
    world.is_sound();
}

// fault: veto-is-dead
#[test]
fn e53_j50_a_veto_is_cancelled_without_an_alarm_and_never_tried_again() {
    let world = World::new();
    let held = taken(&world, laned("ann"));
    assert_eq!(world.end(held, End::Veto("opted out".to_owned())), Ended::Cancelled);
    let row = "SELECT state || ' ' || reason || ' ' || error FROM lanebox_finished";
    assert_eq!(world.one::<String>(row), "cancelled vetoed opted out");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_notice"), 0);
    world.clock.advance(86_400_000);
    assert_eq!(world.taken(5), []);
}

// fault: skipped-job-has-no-reason
#[test]
fn e9_what_a_handler_skips_is_done_without_work_with_its_reason_and_never_runs_again() {
    let world = World::new();
    let held = taken(&world, laned("ann"));
    assert_eq!(world.cancel(held.job), Cancelled::Asked);
    assert_eq!(world.end(held, End::Skip("not for us".to_owned())), Ended::Done, "it stands");
    let row = "SELECT state || ' ' || reason || ' ' || error FROM lanebox_finished";
    assert_eq!(world.one::<String>(row), "done skipped not for us");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_notice"), 0);
    assert_eq!(world.requeue(held.job), Requeued::NotDead);
    world.clock.advance(86_400_000);
    assert_eq!(world.taken(5), []);
    world.is_sound();
}

// fault: permanent-is-tried-again
#[test]
fn j50_a_permanent_error_is_dead_at_once_whatever_attempts_are_left() {
    let world = World::new();
    let held = taken(&world, laned("ann").max_attempts(10));
    assert_eq!(world.end(held, dead()), Ended::Dead);
    assert_eq!(world.one::<i64>("SELECT attempts FROM lanebox_finished"), 1);
}

#[test]
fn j47_an_error_of_100_kb_ends_its_job_and_its_notice_is_one_short_line() {
    let world = World::new();
    let held = taken(&world, laned("ann"));
    let long = "ä€😀".repeat(12_000) + "\nsecond line";
    assert_eq!(world.end(held, End::Dead(long)), Ended::Dead);
    let reason: String = world.one("SELECT reason FROM lanebox_notice");
    assert!(reason.chars().count() == 300 && !reason.contains('\n'), "{reason}");
    world.is_sound();
}

// What no attempt counts is bounded by itself, and its end is seen.
// fault: postponed-for-ever
#[test]
fn e14_a_handler_that_postpones_for_ever_is_dead_and_told_of() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    world.sql("UPDATE lanebox_kind SET max_postponed = 3 WHERE id = 1");
    for n in 0..=3 {
        let held = world.take();
        let until = world.now() + 3_600_000;
        let why = "not yet".to_owned();
        let ended = world.end(held, End::Postpone { until, why, keep_lane: None, counted: true });
        assert_eq!(ended, if n < 3 { Ended::Waits { due: until } } else { Ended::Dead });
        world.clock.advance(3_600_000);
    }
    assert_eq!(world.state(job), "dead");
    let told = world.one::<String>("SELECT kind || ': ' || reason FROM lanebox_notice");
    assert_eq!(told, "job.dead: postponed 3 times: not yet");
    world.is_sound();
}

// fault: unknown-kinds-are-taken
#[test]
fn e55_a_kind_without_a_worker_here_is_left_and_uses_no_attempt() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    let mut ask = world.ask(5);
    ask.kinds.clear();
    for _ in 0..5 {
        world.clock.advance(86_400_000);
        assert_eq!(world.claim_as(ask.clone()), []);
    }
    assert_eq!(world.state(job), "pending");
    assert_eq!(world.take().attempts, 1);
}

#[test]
fn e56_a_job_that_fails_for_ever_keeps_nobody_else_waiting() {
    let world = World::new();
    let poison = world.enqueue(laned("ann").priority(0).max_attempts(100));
    let others: Vec<JobNo> = (0..5).map(|_| world.enqueue(lane_less())).collect();
    for other in others {
        let taken = world.claim(2);
        assert!(taken.iter().any(|claimed| claimed.held.job == other));
        for claimed in taken {
            let poisonous = claimed.held.job == poison;
            let end = if poisonous { retry(0) } else { End::Done { result: None } };
            let _ended = world.end(claimed.held, end);
        }
    }
}

// R27: a new series with its history; the handler runs, whatever it died of.
// fault: requeue-keeps-counters
#[test]
fn r27_a_dead_job_that_is_started_again_runs_whatever_it_died_of() {
    let deaths: [fn(&World) -> Held; 4] = [
        |world| {
            let held = taken(world, laned("ann"));
            let _dead = world.end(held, dead());
            held
        },
        |world| {
            let held = taken(world, laned("ann").max_attempts(1));
            let _dead = world.end(held, retry(0));
            held
        },
        |world| {
            let held = taken(world, laned("ann").max_attempts(1));
            let _dead = world.lose();
            held
        },
        |world| {
            let held = taken(world, laned("ann"));
            let _lost = world.lose();
            for _ in 0..3 {
                let _lost = (world.take(), world.lose());
            }
            held
        },
    ];
    for death in deaths {
        let world = World::new();
        let job = death(&world).job;
        assert_eq!(world.state(job), "dead");
        assert_eq!(world.requeue(job), Requeued::Again { sent: false });
        assert_eq!(world.requeue(job), Requeued::NotDead);
        let held = world.take();
        assert_eq!((held.job, held.series, held.attempts, held.lost), (job, 2, 1, 0));
        assert_eq!(world.done(held), Ended::Done);
        let history: i64 = world.one("SELECT count(*) FROM lanebox_attempt WHERE ended = 'dead'");
        assert_eq!(history, 1, "its death is remembered");
        assert_eq!(world.one::<String>("SELECT state FROM lanebox_notice"), "resolved");
        world.is_sound();
    }
}

// fault: requeue-of-the-expired
#[test]
fn r27_a_dead_job_whose_expiry_has_passed_is_not_started_again_unseen() {
    let world = World::new();
    let mut short = laned("ann");
    short.expires_at = Some(MORNING + 1_000);
    let job = world.enqueue(short);
    let held = world.take();
    let _dead = world.end(held, dead());
    world.clock.advance(1_000);
    assert_eq!(world.requeue(job), Requeued::Expired);
    assert_eq!(world.state(job), "dead");
    let held = taken(&world, laned("ann"));
    let _done = world.done(held);
    assert_eq!(world.requeue(held.job), Requeued::NotDead);
}

// fault: unique-is-forgotten
#[test]
fn j20_a_dead_job_whose_unique_key_is_another_live_jobs_is_not_started_again() {
    let world = World::new();
    let keyed = || laned("ann").unique("order 7");
    let first = taken(&world, keyed());
    let _dead = world.end(first, dead());
    let second = taken(&world, keyed());
    let by = world.id(second.job);
    assert_eq!(world.requeue(first.job), Requeued::KeyTaken { by });
    assert_eq!(world.state(first.job), "dead");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_attempt"), 0, "nothing half-written");
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_audit"), 0);
    // The other is dead too: the first has the key again, and keeps it from both others.
    let _dead = world.end(second, dead());
    assert_eq!(world.requeue(first.job), Requeued::Again { sent: false });
    let by = world.id(first.job);
    assert_eq!(world.requeue(second.job), Requeued::KeyTaken { by });
    assert_eq!(world.accept(keyed()), Enqueued::Existing(by));
    let held = world.take();
    assert_eq!((held.job, world.done(held)), (first.job, Ended::Done));
    assert_eq!(world.requeue(second.job), Requeued::Again { sent: false });
    assert_eq!(world.accept(keyed()), Enqueued::Existing(world.id(second.job)));
    world.is_sound();
}

type Exit = (&'static str, fn(&World, Held));

/// Every way of leaving a lane.
const EXITS: [Exit; 13] = [
    ("done", |world, held| drop(world.done(held))),
    ("skipped", |world, held| drop(world.end(held, End::Skip("no".to_owned())))),
    ("vetoed", |world, held| drop(world.end(held, End::Veto("no".to_owned())))),
    ("dead", |world, held| drop(world.end(held, dead()))),
    ("retried", |world, held| drop(world.end(held, retry(5_000)))),
    ("put off briefly", |world, held| drop(world.end(held, postpone(world.now() + 5_000)))),
    ("put off for long", |world, held| drop(world.end(held, postpone(world.now() + 90_000)))),
    ("handed back", |world, held| drop(world.end(held, End::HandBack { started: true }))),
    ("handed back unstarted", |world, held| {
        drop(world.end(held, End::HandBack { started: false }));
    }),
    ("lost", |world, _| drop(world.lose())),
    ("asked to stop", |world, held| {
        assert_eq!(world.cancel(held.job), Cancelled::Asked);
        drop(world.end(held, retry(0)));
    }),
    ("cancelled while it waited", |world, held| {
        drop(world.end(held, retry(5_000)));
        assert_ne!(world.cancel(held.job), Cancelled::Asked);
    }),
    ("dead and started again", |world, held| {
        drop(world.end(held, dead()));
        assert_eq!(world.requeue(held.job), Requeued::Again { sent: false });
    }),
];

// R29: "busy" is what the rows say; nothing else has to be released.
// fault: lane-does-not-go-on
#[test]
fn r29_whichever_way_its_holder_left_on_its_first_or_last_attempt_the_lane_is_served() {
    for (how, exit) in EXITS {
        for attempts in [1, 10] {
            let world = World::new();
            let held = taken(&world, laned("ann").max_attempts(attempts));
            let behind = world.enqueue(laned("ann"));
            exit(&world, held);
            let after = world.enqueue(laned("ann"));
            for _ in 0..4 {
                world.clock.advance(100_000);
                for claimed in world.claim(5) {
                    let _done = world.done(claimed.held);
                }
            }
            for job in [behind, after] {
                assert_eq!(world.state(job), "done", "{how} with {attempts} attempts");
            }
            world.is_sound();
        }
    }
}

// R34 in the store: what a death means for its lane is its kind's to say.
// fault: death-does-not-stop, cascade-takes-later-ones
#[test]
fn a_death_lets_its_lane_go_on_stops_it_or_cancels_what_follows() {
    for (policy, states) in [
        ("go", ["done", "done"]),
        ("stop", ["pending", "pending"]),
        ("cancel", ["cancelled", "done"]),
    ] {
        let world = World::new();
        let kind = world.store.kind("reply").expect("a kind");
        world.sql(&format!("UPDATE lanebox_kind SET on_dead = '{policy}' WHERE id = {kind}"));
        let held = taken(&world, laned("ann"));
        let follows = world.enqueue(laned("ann"));
        let _dead = world.end(held, dead());
        let later = world.enqueue(laned("ann"));
        for _ in 0..3 {
            world.reap();
            for claimed in world.claim(1) {
                let _done = world.done(claimed.held);
            }
        }
        let now = [world.state(follows), world.state(later)];
        assert_eq!(now, states, "{policy}");
        world.is_sound();
    }
}

#[test]
fn a_requeued_job_that_stopped_its_lane_comes_first_in_its_old_place() {
    let world = World::new();
    let kind = world.store.kind("reply").expect("a kind");
    world.sql(&format!("UPDATE lanebox_kind SET on_dead = 'stop' WHERE id = {kind}"));
    let held = taken(&world, laned("ann"));
    let behind = world.enqueue(laned("ann"));
    let _dead = world.end(held, dead());
    world.clock.advance(60_000);
    assert_eq!(world.taken(1), []);
    world.pause(LaneNo(1));
    let _again = world.requeue(held.job);
    assert_eq!(world.taken(1), [], "a person's own pause is another reason");
    world.resume(LaneNo(1));
    let first = world.take();
    assert_eq!(first.job, held.job);
    let _done = world.done(first);
    assert_eq!(world.taken(1), [behind]);
    world.is_sound();
}

// R30: readiness is what the rows say, so nobody has to be woken in the right instant.
// fault: lane-does-not-go-on
#[test]
fn r30_enqueues_that_race_with_ends_leave_no_lane_asleep() {
    let world = World::unguarded();
    let other = world.beside_unguarded();
    world.store.kind("reply").expect("a kind");
    let ask = world.ask(3);
    std::thread::scope(|scope| {
        for store in [&world.store, &other] {
            scope.spawn(move || {
                for n in 0..150 {
                    let job = NewJob::raw("reply", "{}", Lane::of(format!("lane {}", n % 5)));
                    let _new = store.enqueue(vec![job.org("acme")]).expect("accepted");
                }
            });
            let ask = ask.clone();
            scope.spawn(move || {
                for _ in 0..150 {
                    let claim = Round { claim: Some(ask.clone()), ..Round::default() };
                    for claimed in store.round(claim).expect("a pass").claimed {
                        let end = End::Done { result: None };
                        let finish = crate::store::jobs::Finish {
                            held: claimed.held,
                            end,
                            outbox: Vec::new(),
                        };
                        let round = Round { finish: vec![finish], ..Round::default() };
                        let _ended = store.round(round).expect("a pass");
                    }
                }
            });
        }
    });
    world.is_sound();
    while let Some(claimed) = world.claim(1).first() {
        let _done = world.done(claimed.held);
    }
    assert_eq!(world.all::<String>("SELECT DISTINCT state FROM lanebox_job_state"), ["done"]);
}

// R44: one kind of time everywhere.
// fault: times-are-texts
#[test]
fn r44_every_column_that_is_a_time_is_an_integer_of_a_strict_table() {
    let world = World::new();
    let loose: Vec<String> = world.all(
        "SELECT t.name || '.' || c.name || ' ' || c.type FROM pragma_table_list t JOIN pragma_table_info(t.name) c \
         WHERE t.name LIKE 'lanebox_%' AND t.type = 'table' \
         AND ((t.strict = 0) OR ((c.name LIKE '%\\_at' ESCAPE '\\' OR c.name LIKE '%until' OR c.name IN ('at', 'run_at')) AND c.type <> 'INTEGER'))",
    );
    assert_eq!(loose, [""; 0]);
}
