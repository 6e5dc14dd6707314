//! Claims, leases and fences: who holds a job, until when, and what the others may still say.

use super::tables;
use super::world::{LEASE_MS, MORNING, World, lane_less, laned, retry};
use crate::model::id::{Held, JobNo};
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Ended, Finish, HostWork, Jobs, Reap, Renewed, Round};
use crate::store::processes::Processes;
use crate::store::sqlite::SqliteStore;
use crate::store::sqlite::door::Step;

fn renewed(world: &World, held: Held) -> Renewed {
    let round = Round { renew: vec![held], lease_ms: LEASE_MS, ..Round::default() };
    world.store.round(round).expect("a pass").renewed[0]
}

fn reaped(store: &SqliteStore, whose: Reap) -> usize {
    let round = Round { reap: Some(whose), ..Round::default() };
    store.round(round).expect("a pass").reaped.len()
}

fn tokens(world: &World) -> Vec<i64> {
    world.all(
        "SELECT token FROM lanebox_running UNION ALL SELECT token FROM lanebox_attempt ORDER BY 1",
    )
}

// fault: claim-forgets-its-owner
#[test]
fn e37_a_claim_writes_attempt_owner_token_and_times_at_once() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let before = world.store.commits();
    let held = world.take();
    assert_eq!(world.store.commits(), before + 1, "by that one transaction");
    assert_eq!((held.attempts, held.process, held.started_at), (1, world.me, MORNING));
    let row = "SELECT attempts || ' ' || token || ' ' || process || ' ' || started_at || ' ' || lease_until FROM lanebox_running";
    let expected = format!("1 {} {} {MORNING} {}", held.token, world.me, 1_000_000 + LEASE_MS);
    assert_eq!(world.one::<String>(row), expected);
}

// fault: token-stays
#[test]
fn j26_j36_the_first_run_is_attempt_1_the_retry_2_and_each_has_a_greater_token() {
    let world = World::new();
    world.enqueue(laned("ann"));
    world.enqueue(lane_less());
    let mut last = 0;
    for attempt in 1..=5 {
        let held = world.claim(2)[0].held;
        assert_eq!(held.attempts, attempt);
        assert!(held.token.0 > last, "strictly increasing");
        last = held.token.0;
        let _waits = world.end(held, retry(0));
    }
    let all = tokens(&world);
    assert!(all.windows(2).all(|two| two[0] < two[1]), "no token is given twice: {all:?}");
}

// fault: claimed-stays-ready
#[test]
fn j27_a_leased_job_is_nobody_elses() {
    let world = World::new();
    world.enqueue(lane_less());
    let _held = world.take();
    let other = Ask { process: world.store.register().expect("registers"), ..world.ask(5) };
    assert_eq!(world.claim_as(other), []);
}

// fault: reap-at-the-instant
#[test]
fn j28_r44_at_the_instant_of_its_end_a_lease_holds_and_a_tick_later_it_does_not() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let held = world.take();
    world.clock.advance(LEASE_MS);
    assert_eq!(world.reap(), []);
    world.clock.advance(1);
    let lost = world.reap();
    assert_eq!(lost.len(), 1);
    assert_eq!((lost[0].held, lost[0].ended.clone()), (held, Ended::Waits { due: world.now() }));
}

// fault: loss-is-a-failure
#[test]
fn e59_r23_a_lost_run_is_tried_again_and_uses_no_attempt() {
    let world = World::new();
    let job = world.enqueue(laned("ann").max_attempts(5));
    let held = world.take();
    let _waits = world.end(held, retry(0));
    let held = world.take();
    assert_eq!(held.attempts, 2);
    assert_eq!(world.lose().len(), 1);
    assert_eq!(world.state(job), "pending");
    let again = world.take();
    assert_eq!((again.job, again.attempts, again.lost), (job, 2, 1));
    world.is_sound();
}

// R18: attempts are counted, losses are counted, and what kills its process twice alone ends.
// fault: poison-for-ever
#[test]
fn e60_r18_a_job_that_is_lost_alone_twice_is_dead_with_a_notice_and_the_others_are_done() {
    let world = World::new();
    let poison = world.enqueue(laned("ann"));
    let good: Vec<JobNo> = (0..10).map(|_| world.enqueue(lane_less())).collect();
    let mut crashes = 0;
    while world.state(poison) != "dead" {
        let taken = world.claim(4);
        // Whoever has the poison beside it dies with it.
        if taken.iter().any(|claimed| claimed.held.job == poison) {
            crashes += 1;
            world.lose();
        } else {
            for claimed in taken {
                let _done = world.done(claimed.held);
            }
        }
        assert!(crashes < 10, "it ends");
    }
    assert_eq!(crashes, 4, "twice among others, twice alone");
    assert_eq!(world.one::<i64>("SELECT lost FROM lanebox_finished WHERE state = 'dead'"), 4);
    assert_eq!(world.one::<String>("SELECT kind FROM lanebox_notice"), "job.dead");
    // Its bystanders were suspects too: they run one by one, and none of them is dead.
    while good.iter().any(|job| world.state(*job) != "done") {
        for claimed in world.claim(4) {
            let _done = world.done(claimed.held);
        }
    }
    world.is_sound();
}

// fault: once-is-twice
#[test]
fn e60_j29_a_job_that_must_not_be_started_twice_is_dead_when_it_is_lost() {
    let world = World::new();
    let job = world.enqueue(laned("ann").max_attempts(1));
    let _held = world.take();
    assert_eq!(world.lose()[0].ended, Ended::Dead);
    assert_eq!(world.state(job), "dead");
    let told = "SELECT f.lost || ' ' || n.kind FROM lanebox_finished f JOIN lanebox_notice n ON n.id = f.notice";
    assert_eq!(world.one::<String>(told), "1 job.dead");
    assert_eq!(world.taken(5), [], "not reclaimable");
    world.is_sound();
}

// A loss by reboot never counts as one of the two.
// fault: reboot-accuses
#[test]
fn e60_a_reboot_kills_no_suspect() {
    let mut world = World::new();
    let job = world.enqueue(laned("ann"));
    for _ in 0..3 {
        let _lost = (world.take(), world.lose());
    }
    for _ in 0..2 {
        let _held = world.take();
        world = world.rebooted();
        assert_eq!(world.reap().len(), 1, "at once");
        assert_eq!(world.state(job), "pending");
    }
    let _last = (world.take(), world.lose());
    assert_eq!(world.state(job), "dead", "lost alone for the second time");
}

// fault: renew-writes-nothing
#[test]
fn e61_a_renewed_lease_is_not_taken_back() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let held = world.take();
    for _ in 0..5 {
        world.clock.advance(LEASE_MS);
        assert_eq!(renewed(&world, held), Renewed::Held { cancel_asked: false });
        assert_eq!(world.reap(), []);
    }
}

#[test]
fn e62_who_renews_after_a_loss_hears_it() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    let _asked = world.cancel(job);
    assert_eq!(renewed(&world, held), Renewed::Held { cancel_asked: true });
    let _lost = world.lose();
    assert_eq!(renewed(&world, held), Renewed::LeaseLost);
}

// fault: losses-have-no-history
#[test]
fn e63_the_history_keeps_the_loss_and_the_error_before_it() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let held = world.take();
    let _waits = world.end(held, retry(0));
    let _lost = (world.take(), world.lose());
    let history: Vec<String> =
        world.all("SELECT ended || ': ' || error FROM lanebox_attempt ORDER BY token");
    let lost = "lost: lease expired or its holder vanished";
    assert_eq!(history, ["failed: the network is down", lost]);
}

// fault: once-is-twice
#[test]
fn e64_r20_two_reapers_revive_each_job_once_and_write_one_notice() {
    let world = World::unguarded();
    let other = world.beside_unguarded();
    for n in 0..100 {
        world.enqueue(laned(&format!("contact {n}")));
    }
    world.enqueue(laned("once").max_attempts(1));
    assert_eq!(world.claim(101).len(), 101);
    world.clock.advance(LEASE_MS + 1);
    let found: usize = std::thread::scope(|scope| {
        let reapers = [&world.store, &other, &world.store, &other];
        let reapers = reapers.map(|store| scope.spawn(move || reaped(store, Reap::Expired)));
        reapers.into_iter().map(|reaper| reaper.join().expect("no panic")).sum()
    });
    assert_eq!(found, 101);
    assert_eq!(world.one::<i64>("SELECT count(*) FROM lanebox_attempt WHERE ended = 'lost'"), 100);
    assert_eq!(world.one::<i64>("SELECT sum(count) FROM lanebox_notice"), 1);
    world.is_sound();
}

// More of them than one pass takes back.
// fault: a-batch-hides-the-rest
#[test]
fn r21_lost_runs_that_cannot_be_written_hide_nobody_behind_them() {
    let world = World::unguarded();
    world.sql("UPDATE lanebox_counter SET cap = 10000 WHERE one = 1");
    let _new = world.store.enqueue((0..400).map(|_| lane_less()).collect()).expect("accepted");
    assert_eq!(world.claim(400).len(), 400);
    world.sql("CREATE TRIGGER refuse BEFORE INSERT ON lanebox_tried WHEN NEW.id <= 300 BEGIN SELECT RAISE(ABORT, 'no'); END");
    assert_eq!(world.lose().len(), 100);
    world.sql("DROP TRIGGER refuse");
    assert_eq!(world.reap().len() + world.reap().len(), 300);
    world.is_sound();
}

// fault: reap-too-early
#[test]
fn j30_reaping_touches_nothing_else_and_twice_nothing_more() {
    let world = World::new();
    for lane in ["ann", "bob", "eve"] {
        world.enqueue(laned(lane));
    }
    let done = world.take();
    let _done = world.done(done);
    let _lost = world.take();
    world.clock.advance(LEASE_MS / 2);
    let valid = world.take();
    world.clock.advance(LEASE_MS / 2 + 1);
    assert_eq!(world.reap().len(), 1);
    let after = world.store.look(tables::read);
    assert_eq!(world.reap(), []);
    assert_eq!(world.store.look(tables::read), after);
    assert_eq!(world.held(), [valid]);
}

// Gone for sure is taken at once, whatever its lease says; a lease in doubt is left alone.
#[test]
fn e66_the_leases_of_a_process_that_is_gone_come_back_at_once() {
    let world = World::new();
    world.enqueue(laned("ann"));
    world.enqueue(laned("bob"));
    let gone = world.store.register().expect("registers");
    assert_eq!(world.claim_as(Ask { process: gone, ..world.ask(1) }).len(), 1);
    let mine = world.take();
    assert_eq!(reaped(&world.store, Reap::Gone), 0);
    world.store.step(Step::Gone(gone)).expect("marked");
    assert_eq!(reaped(&world.store, Reap::Gone), 1);
    assert_eq!(world.held(), [mine]);
    // A gap in which nobody could write: expired leases wait for their holders' renewal.
    world.clock.advance(LEASE_MS + 1);
    assert_eq!(reaped(&world.store, Reap::Gone), 0);
    assert_eq!(renewed(&world, mine), Renewed::Held { cancel_asked: false });
}

// R19: what runs is found by its own lease, and a holder's row cannot go while anybody may look.
// fault: reap-never
#[test]
fn r19_a_run_is_found_by_its_own_lease_and_the_row_of_its_holder_stays() {
    let world = World::new();
    world.enqueue(laned("ann"));
    let gone = world.store.register().expect("registers");
    assert_eq!(world.claim_as(Ask { process: gone, ..world.ask(1) }).len(), 1);
    let delete = format!("DELETE FROM lanebox_process WHERE id = {gone}");
    let refused = world.store.step(Step::Sql(delete)).expect_err("it stays");
    assert!(refused.to_string().contains("processes are marked gone"), "{refused}");
    assert_eq!(world.lose().len(), 1, "without any word of its holder");
    world.is_sound();
}

#[test]
fn e50_the_hosts_rows_of_a_lost_run_are_not_even_asked_for() {
    let world = World::new();
    world.enqueue(laned("ann"));
    world.sql("CREATE TABLE deal(id INTEGER)");
    let held = world.take();
    let _lost = world.lose();
    let finish = || Finish { held, end: End::Done { result: None }, outbox: Vec::new() };
    let mut asked = 0;
    let mut rows = |conn: &rusqlite::Connection| {
        asked += 1;
        conn.execute("INSERT INTO deal VALUES (1)", [])?;
        Ok(())
    };
    let ended = world.store.finish_with(finish(), HostWork::Sqlite(&mut rows));
    assert!(matches!(ended, Ok(Ended::LeaseLost)), "{ended:?}");
    assert_eq!((asked, world.one::<i64>("SELECT count(*) FROM deal")), (0, 0));
}

// fault: end-without-token
#[test]
fn e50_e54_j34_j35_who_lost_its_lease_changes_nothing_whatever_it_says() {
    let ends = || {
        [
            End::Done { result: Some("{}".to_owned()) },
            End::Skip("no".to_owned()),
            End::Veto("no".to_owned()),
            End::Dead("no".to_owned()),
            retry(5_000),
            End::Unknown,
            End::HandBack { started: true },
        ]
    };
    let world = World::new();
    world.enqueue(laned("ann"));
    world.enqueue(laned("bob"));
    let lost = world.take();
    let _reaped = world.lose();
    let others = [
        // It waits, it runs under another token, it is dead.
        |_: &World| {},
        |world: &World| {
            let taken = world.claim(2);
            assert_eq!(taken.len(), 2);
        },
        |world: &World| {
            let held = world.held()[0];
            let _dead = world.end(held, End::Dead("mended never".to_owned()));
        },
    ];
    for change in others {
        change(&world);
        let before = world.store.look(tables::read);
        for end in ends() {
            assert_eq!(world.end(lost, end.clone()), Ended::LeaseLost, "{end:?}");
        }
        assert_eq!(world.store.look(tables::read), before);
    }
}

// Of two reports of one pass only the stale one is refused.
#[test]
fn e54_a_stale_report_costs_its_pass_nothing() {
    let world = World::new();
    world.enqueue(laned("ann"));
    world.enqueue(laned("bob"));
    let stale = world.take();
    let _lost = world.lose();
    let held = world.claim(2)[1].held;
    let finish = [stale, held].map(|held| {
        let end = End::Done { result: None };
        Finish { held, end, outbox: Vec::new() }
    });
    let round = Round { finish: finish.into(), ..Round::default() };
    let ended = world.store.round(round).expect("a pass").finished;
    assert_eq!(ended, [Ended::LeaseLost, Ended::Done]);
}

// Nobody could write the outcome: the lease runs out and the job is tried again.
// fault: reap-never
#[test]
fn e57_an_outcome_that_was_never_written_revives_the_job() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    let result = End::Done { result: Some("not JSON".to_owned()) };
    let finish = vec![Finish { held, end: result, outbox: Vec::new() }];
    let round = Round { finish, ..Round::default() };
    let _refused_or_retried = world.store.round(round);
    world.lose();
    assert_ne!(world.state(job), "running");
    world.clock.advance(3_600_000);
    assert_eq!(world.taken(1), [job]);
    world.is_sound();
}

#[test]
fn a_late_completion_is_accepted_until_the_lease_is_taken_back() {
    let world = World::new();
    let job = world.enqueue(laned("ann"));
    let held = world.take();
    world.clock.advance(10 * LEASE_MS);
    assert_eq!(world.done(held), Ended::Done);
    assert_eq!(world.state(job), "done");
}
