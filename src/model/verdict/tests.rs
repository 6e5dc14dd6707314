//! R23: every pair of (how a run ended, what is known of it) has exactly one result. The table is
//! the specification.

use proptest::prelude::*;

use super::*;

const NOW: i64 = 1_000_000;
const RUN_AT: i64 = 900_000;
const BACKOFF: i64 = 5_000;

/// One word each for how a run ends.
const ENDS: [&str; 16] = [
    "done",
    "skip",
    "veto",
    "given-up",
    "retry",
    "dead",
    "short",
    "long",
    "parked",
    "kept",
    "free",
    "unknown",
    "unstarted",
    "started",
    "lost",
    "reboot",
];

fn end(word: &str) -> End {
    let postpone = |ms: i64, keep_lane, counted| End::Postpone {
        until: NOW + ms,
        why: "why".to_owned(),
        keep_lane,
        counted,
    };
    match word {
        "done" => End::Done { result: None },
        "skip" => End::Skip("why".to_owned()),
        "veto" => End::Veto("why".to_owned()),
        "given-up" => End::GivenUp("why".to_owned()),
        "retry" => End::Retry { error: "error".to_owned(), wait_ms: BACKOFF },
        "dead" => End::Dead("error".to_owned()),
        "short" => postpone(SHORT_POSTPONE_MS, None, true),
        "long" => postpone(SHORT_POSTPONE_MS + 1, None, true),
        // Not said by the handler: a limit, a window, a channel that is paused.
        "parked" => postpone(SHORT_POSTPONE_MS + 1, None, false),
        "kept" => postpone(SHORT_POSTPONE_MS + 1, Some(true), true),
        "free" => postpone(1, Some(false), true),
        "unknown" => End::Unknown,
        "unstarted" => End::HandBack { started: false },
        "started" => End::HandBack { started: true },
        "lost" => End::Lost { reboot: false },
        "reboot" => End::Lost { reboot: true },
        other => unreachable!("{other}"),
    }
}

/// One word each for what is known of the run.
fn situation(word: &str) -> (Run, Around) {
    let run = Run {
        attempts: 2,
        max_attempts: 5,
        lost: 1,
        lost_alone: 0,
        postponed: 3,
        unknowns: 1,
        alone: false,
        kept_lane: false,
        cancel_asked: false,
        run_at: RUN_AT,
    };
    let around =
        Around { now: NOW, yields: false, max_postponed: 100, blocking: None, has_sent: false };
    let blocked = Around { blocking: Some(SendNo(7)), has_sent: true, ..around };
    match word {
        "plain" => (run, around),
        "last" => (Run { max_attempts: 2, ..run }, around),
        "single" => (Run { attempts: 1, max_attempts: 1, lost: 0, ..run }, around),
        "alone" => (Run { lost: 2, alone: true, ..run }, around),
        "twice" => (Run { lost: 3, lost_alone: 1, alone: true, ..run }, around),
        "yields" => (run, Around { yields: true, ..around }),
        "sent" => (run, Around { has_sent: true, ..around }),
        "patient" => (run, Around { max_postponed: 3, ..around }),
        "keeper" => (Run { kept_lane: true, ..run }, around),
        "cancel" => (Run { cancel_asked: true, ..run }, around),
        "blocked" => (run, blocked),
        "deaf" => (Run { unknowns: MAX_UNKNOWNS, ..run }, blocked),
        "blocked-cancel" => (Run { cancel_asked: true, ..run }, blocked),
        "deaf-cancel" => (Run { cancel_asked: true, unknowns: MAX_UNKNOWNS, ..run }, blocked),
        other => unreachable!("{other}"),
    }
}

/// For each situation: how the run ends, and the verdict. A dash stands for every other end;
/// `plain` there means that the situation changes nothing.
const TABLE: [(&str, &[(&str, &str)]); 14] = [
    (
        "plain",
        &[
            ("done", "done"),
            ("skip", "skipped"),
            ("veto", "vetoed"),
            ("given-up", "given_up"),
            ("dead", "dead"),
            ("retry", "wait/+5000/keep/2.0(0).3.1"),
            ("short", "wait/+60000/keep/1.0(0).4.1"),
            ("long", "wait/+60001/free/1.0(0).4.1"),
            ("parked", "wait/+60001/free/1.0(0).3.1"),
            ("kept", "wait/+60001/keep/1.0(0).4.1"),
            ("free", "wait/+1/free/1.0(0).4.1"),
            ("unknown", "wait/now/keep/1.0(0).3.1"),
            ("unstarted", "wait/place/free/1.1(0).3.1"),
            ("started", "wait/place/keep/1.1(0).3.1"),
            ("lost reboot", "wait/now/keep/1.2(0).3.1"),
        ],
    ),
    ("last", &[("retry", "dead"), ("-", "plain")]),
    (
        "single",
        &[
            ("done", "done"),
            ("skip", "skipped"),
            ("veto", "vetoed"),
            ("given-up", "given_up"),
            ("dead retry lost reboot", "dead"),
            ("short", "wait/+60000/keep/0.0(0).4.1"),
            ("long", "wait/+60001/free/0.0(0).4.1"),
            ("parked", "wait/+60001/free/0.0(0).3.1"),
            ("kept", "wait/+60001/keep/0.0(0).4.1"),
            ("free", "wait/+1/free/0.0(0).4.1"),
            ("unknown", "wait/now/keep/0.0(0).3.1"),
            ("unstarted", "wait/place/free/0.0(0).3.1"),
            ("started", "wait/place/keep/0.0(0).3.1"),
        ],
    ),
    (
        "alone",
        &[
            ("unstarted", "wait/place/free/1.2(0).3.1"),
            ("started", "wait/place/keep/1.2(0).3.1"),
            ("lost", "wait/now/keep/1.3(1).3.1"),
            ("reboot", "wait/now/keep/1.3(0).3.1"),
            ("-", "plain"),
        ],
    ),
    (
        "twice",
        &[
            ("unstarted", "wait/place/free/1.3(1).3.1"),
            ("started", "wait/place/keep/1.3(1).3.1"),
            ("lost", "dead"),
            ("reboot", "wait/now/keep/1.4(1).3.1"),
            ("-", "plain"),
        ],
    ),
    ("yields", &[("retry", "wait/+5000/free/2.0(0).3.1"), ("-", "plain")]),
    (
        "sent",
        &[
            ("long", "wait/+60001/keep/1.0(0).4.1"),
            ("parked", "wait/+60001/keep/1.0(0).3.1"),
            ("-", "plain"),
        ],
    ),
    ("patient", &[("short long kept free", "dead"), ("-", "plain")]),
    ("keeper", &[("unstarted", "wait/place/keep/1.1(0).3.1"), ("-", "plain")]),
    ("cancel", &[("done", "done"), ("skip", "skipped"), ("veto", "vetoed"), ("-", "operator")]),
    (
        "blocked",
        &[
            ("unstarted started", "hold/now/keep/1.1(0).3.1"),
            ("lost reboot", "hold/now/keep/1.2(0).3.1"),
            ("-", "hold/now/keep/1.0(0).3.2"),
        ],
    ),
    (
        "deaf",
        &[
            ("unstarted started", "hold/now/keep/1.1(0).3.5"),
            ("lost reboot", "hold/now/keep/1.2(0).3.5"),
            ("-", "dead"),
        ],
    ),
    ("blocked-cancel", &[("-", "operator")]),
    ("deaf-cancel", &[("-", "operator")]),
];

fn expected(situation: &str, end: &str) -> &'static str {
    let (_, rows) = TABLE.iter().find(|(name, _)| *name == situation).expect("a known situation");
    let row = rows.iter().find(|(ends, _)| ends.split(' ').any(|one| one == end || one == "-"));
    match row.expect("every end has its row").1 {
        "plain" => expected("plain", end),
        verdict => verdict,
    }
}

/// A verdict in one word: `wait` and `hold` with due time, lane and the counters attempts, lost
/// (alone), postponed and unknowns.
fn told(verdict: &Verdict) -> String {
    let counters = |again: &Again| {
        let due = match again.due {
            NOW => "now".to_owned(),
            RUN_AT => "place".to_owned(),
            later => format!("+{}", later - NOW),
        };
        let lane = if again.keep_lane { "keep" } else { "free" };
        let Again { attempts, lost, lost_alone, postponed, unknowns, .. } = *again;
        format!("{due}/{lane}/{attempts}.{lost}({lost_alone}).{postponed}.{unknowns}")
    };
    match verdict {
        Verdict::Done { .. } => "done".to_owned(),
        Verdict::Skipped { .. } => "skipped".to_owned(),
        Verdict::Cancelled { reason, .. } => reason.as_str().to_owned(),
        Verdict::Dead { .. } => "dead".to_owned(),
        Verdict::Wait(again) => format!("wait/{}", counters(again)),
        Verdict::Hold { again, .. } => format!("hold/{}", counters(again)),
    }
}

// fault: loss-is-a-failure, cancel-beats-done, cancel-is-forgotten, done-before-evidence
#[test]
fn r23_every_end_in_every_situation_has_its_one_result() {
    for (name, _) in TABLE {
        let (run, around) = situation(name);
        for word in ENDS {
            let verdict = told(&verdict(&run, &end(word), &around));
            assert_eq!(verdict, expected(name, word), "{name}, {word}");
        }
    }
}

/// A run as a running row may be: see the CHECKs of `lanebox_running`.
fn any_run() -> impl Strategy<Value = Run> {
    let counters = (1..=4_u32, 0..=3_u32, 0..=4_u32, 0..=1_u32, 0..=101_u32, 0..=6_u32);
    (counters, any::<(bool, bool)>()).prop_map(|(counters, (kept_lane, cancel_asked))| {
        let (attempts, more, lost, lost_alone, postponed, unknowns) = counters;
        Run {
            attempts,
            max_attempts: attempts + more,
            lost,
            lost_alone: lost_alone.min(lost),
            postponed,
            unknowns,
            alone: lost >= 2,
            kept_lane,
            cancel_asked,
            run_at: RUN_AT,
        }
    })
}

proptest! {
    #[test]
    fn what_waits_can_be_stored_and_claimed_again(
        run in any_run(),
        word in prop::sample::select(ENDS.to_vec()),
        (yields, blocked, has_sent) in any::<(bool, bool, bool)>(),
    ) {
        let blocking = blocked.then_some(SendNo(1));
        let around = Around { now: NOW, yields, max_postponed: 100, blocking, has_sent };
        match verdict(&run, &end(word), &around) {
            Verdict::Wait(again) | Verdict::Hold { again, .. } => {
                prop_assert!(again.attempts < run.max_attempts, "the next run has an attempt left");
                prop_assert!(again.lost_alone <= again.lost.min(1));
                prop_assert!(again.unknowns <= MAX_UNKNOWNS.max(run.unknowns));
                prop_assert!(again.due >= RUN_AT);
            }
            Verdict::Done { .. } => prop_assert_eq!(word, "done"),
            Verdict::Skipped { .. } => prop_assert_eq!(word, "skip"),
            Verdict::Cancelled { .. } => {
                prop_assert!(["veto", "given-up"].contains(&word) || run.cancel_asked);
            }
            Verdict::Dead { .. } => prop_assert!(word != "veto" || blocked),
        }
    }
}

/// Ends the same job the same way again and again; after how many runs it is over.
fn runs_until_over(end: &End, max_attempts: u32, blocking: Option<SendNo>) -> Option<u32> {
    let (mut run, around) = situation("plain");
    run = Run { attempts: 1, max_attempts, lost: 0, postponed: 0, unknowns: 0, ..run };
    let around = Around { blocking, ..around };
    for runs in 1..1_000 {
        let again = match verdict(&run, end, &around) {
            Verdict::Wait(again) | Verdict::Hold { again, .. } => again,
            _ => return Some(runs),
        };
        let Again { attempts, lost, lost_alone, postponed, unknowns, .. } = again;
        let (attempts, alone) = (attempts + 1, lost >= 2);
        run = Run { attempts, lost, lost_alone, postponed, unknowns, alone, ..run };
    }
    None
}

// fault: poison-for-ever
#[test]
fn e133_a_job_that_always_ends_badly_comes_to_an_end() {
    assert_eq!(runs_until_over(&end("lost"), 10, None), Some(4), "lost twice, then twice alone");
    assert_eq!(runs_until_over(&end("lost"), 1, None), Some(1));
    assert_eq!(runs_until_over(&end("retry"), 10, None), Some(10));
    assert_eq!(runs_until_over(&end("long"), 10, None), Some(101), "E14");
    assert_eq!(runs_until_over(&end("unknown"), 10, Some(SendNo(1))), Some(MAX_UNKNOWNS + 1));
}

#[test]
fn what_is_not_the_jobs_fault_never_ends_it() {
    assert_eq!(runs_until_over(&end("reboot"), 10, None), None);
    assert_eq!(runs_until_over(&end("started"), 1, None), None, "J45: a deploy");
    assert_eq!(runs_until_over(&end("parked"), 1, None), None);
}
