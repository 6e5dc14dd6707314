//! The faults are over: all that is known settles within a bounded time, and everybody leaves.

use std::time::Duration;

use rustix::process::Signal;

use super::stage::Stage;
use crate::clock::within;
use crate::part::Part;

/// Much longer than the patience of a channel and the longest backoff.
const BOUND: Duration = Duration::from_secs(60);

/// Each finds what is not settled yet.
const OPEN: [(&str, &str); 4] = [
    (
        "jobs that have not ended",
        "SELECT id FROM lanebox_job_state WHERE org = ?1 AND state IN ('pending', 'running', 'dead')",
    ),
    (
        "events that wait",
        "SELECT v.seq FROM lanebox_event_state v JOIN lanebox_event e ON e.seq = v.seq JOIN lanebox_org o ON o.name = e.org WHERE o.id = ?1 AND v.state IN ('pending', 'dead')",
    ),
    (
        "sends of unknown fate",
        "SELECT t.send FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send WHERE s.org = ?1 AND t.state IN ('intended', 'unknown')",
    ),
    (
        "events that nobody heard",
        "SELECT e.seq FROM lanebox_event e JOIN lanebox_org o ON o.name = e.org WHERE o.id = ?1 AND e.uuid IS NULL",
    ),
];

pub fn settle(stage: &mut Stage) {
    if let Some(provider) = &mut stage.provider {
        provider.tell("calm");
        assert!(provider.says("calm"), "the provider calms down: {}", provider.errors());
    }
    let _thawed = within(BOUND, || {
        stage.tend();
        stage.nobody_is_frozen()
    });
    leave(stage, Part::Producer);
    let settled = within(BOUND, || {
        stage.tend();
        OPEN.iter().all(|(_, sql)| stage.count(sql) == 0)
    });
    if !settled {
        for (what, sql) in OPEN {
            let open = stage.count(sql);
            if open > 0 {
                stage.wrong.push(format!("{open} {what}, {BOUND:?} after the faults"));
            }
        }
    }
    leave(stage, Part::Worker);
}

/// In order, after SIGTERM: whoever has something unsaid says it before.
fn leave(stage: &mut Stage, part: Part) {
    for child in &mut stage.cast {
        if child.order.part == part {
            let way = if part == Part::Worker { "started" } else { "open" };
            if !child.says(way) {
                let told = child.told("failed").unwrap_or_default();
                stage.wrong.push(format!("a {part:?} did not start: {told} {}", child.errors()));
            }
            child.signal(Signal::TERM);
            if child.ends_well() {
                stage.tally.stopped += 1;
            } else {
                stage.wrong.push(format!("a {part:?} did not leave well: {}", child.errors()));
            }
        }
    }
    stage.cast.retain(|child| child.order.part != part);
}
