//! When a pass is due, what it asks for, and what the desk still holds.

mod hung;
mod pulse;
mod share;

use proptest::prelude::*;

use super::*;
use crate::engine::signal::Stop;
use crate::model::id::{JobId, OrgNo, ProcessNo};

const KIND: KindNo = KindNo(1);
const WORKERS: usize = 4;

fn claimed(n: i64) -> Claimed {
    let held = Held {
        job: JobNo(n),
        token: Token(n),
        process: ProcessNo(1),
        org: OrgNo(1),
        lane: None,
        started_at: 0,
        series: 1,
        attempts: 1,
        lost: 0,
    };
    Claimed {
        held,
        id: JobId(uuid::Uuid::nil()),
        org_name: "acme".into(),
        kind: KIND,
        version: 1,
        subject: None,
        payload: "{}".to_owned(),
        max_attempts: 10,
        source_event: None,
        consumer: None,
        ordinal: None,
        lease_until: i64::MAX,
    }
}

fn done(held: Held) -> Finish {
    Finish { held, end: End::Done { result: None }, outbox: Vec::new() }
}

/// A desk in a test's hands: time passes when it says so.
struct Scene {
    desk: Desk,
    us: i64,
    next: i64,
}

impl Scene {
    fn new() -> Scene {
        Scene { desk: Desk::new(WORKERS), us: 1_000_000, next: 1 }
    }

    /// A leader's pass, which gets `n` jobs.
    fn pass(&mut self, n: usize) {
        self.desk.rung = false;
        let _reports = self.desk.take_reports();
        self.desk.committed(500);
        self.desk.leading = false;
        let got = (self.next..).take(n).map(claimed).collect();
        self.next += n as i64;
        self.desk.receive(got, self.us);
    }

    /// What an idle worker does.
    fn turn(&mut self) -> Turn {
        self.desk.turn(0, self.us, |_| 1_000)
    }

    /// Every worker takes one.
    fn all_busy(&mut self) {
        self.pass(WORKERS);
        for _ in 0..WORKERS {
            assert!(matches!(self.turn(), Turn::Run(_)));
        }
    }

    fn end(&mut self, token: i64) -> bool {
        let busy = &self.desk.busy[&Token(token)];
        let (finish, took_us) = (done(busy.held), self.us - busy.since_us);
        self.desk.report(Report { finish, kind: KIND, took_us }, self.us)
    }

    fn wants_first(&self) -> bool {
        self.desk.wants_first(0, self.us)
    }

    fn is_due(&self) -> bool {
        self.desk.pass_is_due(0, self.us)
    }

    /// Runs of the kind are short from here on: jobs are taken ahead.
    fn short_runs(&mut self) {
        self.all_busy();
        for token in 1..=4 {
            self.end(token);
        }
        self.pass(0);
        assert!(self.desk.ahead(self.us) > 0);
    }
}

#[test]
fn a_new_engine_looks_at_once_and_then_only_when_something_may_have_changed() {
    let mut scene = Scene::new();
    assert!(matches!(scene.turn(), Turn::Lead));
    scene.pass(0);
    assert!(matches!(scene.turn(), Turn::Wait), "R28: nothing to take, nothing rings: no pass");
    scene.desk.rung = true;
    assert!(matches!(scene.turn(), Turn::Lead));
}

#[test]
fn one_leads_at_a_time() {
    let mut scene = Scene::new();
    assert!(matches!(scene.turn(), Turn::Lead));
    assert!(matches!(scene.turn(), Turn::Wait));
}

// fault: due-time-is-forgotten, always-due
#[test]
fn e41_a_scheduled_job_makes_a_pass_due_at_its_time_and_not_before() {
    let mut scene = Scene::new();
    scene.pass(0);
    scene.desk.next_due = Some(5_000);
    assert!(!scene.desk.pass_is_due(4_999, scene.us));
    assert!(scene.desk.pass_is_due(5_000, scene.us));
}

#[test]
fn no_pass_when_every_worker_is_at_work() {
    let mut scene = Scene::new();
    scene.all_busy();
    scene.desk.rung = true;
    assert!(!scene.is_due());
    assert_eq!(scene.desk.want(scene.us), None);
}

#[test]
fn an_end_is_committed_at_once_when_a_worker_has_nothing_to_do() {
    let mut scene = Scene::new();
    scene.all_busy();
    assert!(!scene.is_due());
    scene.end(1);
    assert!(matches!(scene.turn(), Turn::Lead));
}

#[test]
fn an_end_lingers_for_company_while_there_is_work_and_not_longer() {
    let mut scene = Scene::new();
    scene.short_runs();
    scene.pass(60);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.end(5);
    assert!(!scene.is_due());
    scene.us += LINGER_US;
    assert!(scene.is_due());
}

#[test]
fn what_was_taken_ahead_goes_back_when_nobody_comes_for_it_and_is_not_taken_again() {
    let mut scene = Scene::new();
    scene.short_runs();
    scene.pass(6);
    for _ in 0..WORKERS {
        assert!(matches!(scene.turn(), Turn::Run(_)));
    }
    assert!(!scene.desk.is_stuck(scene.us));
    scene.us += STUCK_US + 1;
    assert!(scene.desk.is_stuck(scene.us));
    scene.desk.hand_back_queue(scene.us);
    assert_eq!(scene.desk.reports.len(), 2);
    assert!(scene.desk.queue.is_empty());
    assert_eq!(scene.desk.want(scene.us), None, "it would go round and round");
    scene.end(7);
    assert_eq!(scene.desk.want(scene.us).map(|want| want.idle), Some(1));
}

#[test]
fn nothing_is_taken_ahead_after_a_loss_until_what_was_lost_has_passed() {
    let mut scene = Scene::new();
    scene.short_runs();
    let lost = claimed(99).held;
    scene.desk.saw_lost([lost.job].into_iter(), scene.us);
    assert_eq!(scene.desk.ahead(scene.us), 0);
    scene.desk.leave(lost, false);
    assert!(scene.desk.ahead(scene.us) > 0);
}

#[test]
fn a_loss_that_another_process_took_over_is_not_waited_for_for_ever() {
    let mut scene = Scene::new();
    scene.short_runs();
    scene.desk.saw_lost([JobNo(99)].into_iter(), scene.us);
    scene.us += LOST_FOR_US;
    scene.desk.saw_lost([].into_iter(), scene.us);
    assert!(scene.desk.ahead(scene.us) > 0);
}

// J48
// fault: no-rest-after-a-failure, lost-ends-are-dropped
#[test]
fn after_a_pass_that_failed_nobody_leads_for_a_while_and_the_ends_are_still_held() {
    let mut scene = Scene::new();
    scene.all_busy();
    scene.end(1);
    scene.end(2);
    for rest in [50_000, 100_000, 200_000] {
        let reports = scene.desk.take_reports();
        scene.desk.not_committed(reports, scene.us);
        assert!(matches!(scene.turn(), Turn::Wait));
        let mut held: Vec<i64> = scene.desk.held().iter().map(|held| held.token.0).collect();
        held.sort_unstable();
        assert_eq!(held, [1, 2, 3, 4], "its leases go on");
        scene.us += rest - 1;
        assert!(!scene.is_due());
        scene.us += 1;
        assert!(scene.is_due());
    }
    scene.pass(0);
    scene.desk.rung = true;
    assert!(scene.is_due(), "a pass that holds ends the rests");
}

#[test]
fn whatever_is_in_hand_is_renewed_also_while_it_is_being_committed() {
    let mut scene = Scene::new();
    scene.pass(3);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.end(1);
    let _leader = scene.desk.take_reports();
    scene.end(2);
    let mut held: Vec<i64> = scene.desk.held().iter().map(|held| held.token.0).collect();
    held.sort_unstable();
    assert_eq!(held, [1, 2, 3]);
}

#[test]
fn what_was_taken_ahead_is_not_begun_after_its_lease() {
    let mut scene = Scene::new();
    let leased = |n, until_ms| Claimed { lease_until: until_ms, ..claimed(n) };
    let now_ms = scene.us / 1_000;
    scene.desk.receive(vec![leased(1, now_ms), leased(2, now_ms), leased(3, now_ms + 1)], 0);
    scene.desk.renewed(Token(2), now_ms + 1);
    // Another thread leads.
    scene.desk.leading = true;
    for token in [2, 3] {
        let Turn::Run(begun) = scene.turn() else { panic!("it is held") };
        assert_eq!(begun.claimed.held.token, Token(token));
    }
    let [report] = &scene.desk.take_reports()[..] else { panic!("one was not begun") };
    assert_eq!(report.finish.held.token, Token(1));
    assert_eq!(report.finish.end, End::HandBack { started: false });
}

// E65
// fault: takes-while-it-stops
#[test]
fn a_stop_takes_nothing_starts_nothing_and_commits_the_last_ends() {
    let mut scene = Scene::new();
    scene.pass(3);
    assert!(matches!(scene.turn(), Turn::Run(_)));
    scene.desk.stopping = true;
    scene.desk.hand_back_queue(scene.us);
    scene.desk.rung = true;
    assert_eq!(scene.desk.want(scene.us), None);
    assert!(matches!(scene.turn(), Turn::Lead));
    scene.pass(0);
    assert!(matches!(scene.turn(), Turn::Leave));
    scene.end(1);
    assert!(matches!(scene.turn(), Turn::Lead));
    scene.pass(0);
    assert!(matches!(scene.turn(), Turn::Leave));
    assert_eq!(scene.desk.stopped, Stopped { finished: 1, handed_back: 2 });
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Ring,
    Turn,
    End,
    Claim { full: bool },
    Fail,
    Later(i64),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        1 => Just(Step::Ring),
        4 => Just(Step::Turn),
        4 => Just(Step::End),
        3 => any::<bool>().prop_map(|full| Step::Claim { full }),
        1 => Just(Step::Fail),
        2 => (0..200_000_i64).prop_map(Step::Later),
    ]
}

impl Scene {
    fn step(&mut self, step: Step) {
        match step {
            Step::Ring => self.desk.rung = true,
            Step::Later(us) => self.us += us,
            Step::End => {
                if let Some(&token) = self.desk.busy.keys().min() {
                    self.end(token.0);
                }
            }
            // Only a thread that has nothing in hand asks.
            Step::Turn if self.desk.idle() == 0 => {}
            Step::Turn => {
                if matches!(self.turn(), Turn::Lead) {
                    self.desk.leading = false;
                }
            }
            Step::Claim { full } => {
                let want = self.desk.want(self.us);
                let idle = self.desk.idle().saturating_sub(self.desk.queue.len());
                assert!(want.is_none_or(|want| want.idle == idle), "R: idle workers only");
                let n = want.map_or(0, |want| if full { want.all() } else { 1 });
                self.pass(n);
            }
            Step::Fail => {
                let reports = self.desk.take_reports();
                self.desk.not_committed(reports, self.us);
            }
        }
    }
}

proptest! {
    #[test]
    fn never_holds_more_than_it_may_and_never_starves(
        steps in prop::collection::vec(step(), 1..120)
    ) {
        let mut scene = Scene::new();
        for step in steps {
            scene.step(step);
            let in_hand = scene.desk.busy.len() + scene.desk.queue.len();
            prop_assert!(in_hand <= WORKERS + MOST_AHEAD, "{in_hand} in hand");
            // Whatever happened: once the rest and the linger are over, ends are committed, and an
            // idle worker to whom the bell rang gets a look or a job.
            let later = scene.us + 10 * REST_US * 32;
            prop_assert!(scene.desk.reports.is_empty() || scene.desk.pass_is_due(0, later));
            scene.desk.is_slow(later);
            let idle = scene.desk.idle() > scene.desk.queue.len();
            prop_assert!(!(scene.desk.rung && idle) || scene.desk.pass_is_due(0, later));
        }
    }
}
