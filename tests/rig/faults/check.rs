//! Runs every test that names a fault: it passes without it, and does not with it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, mpsc};
use std::time::Duration;

use super::named::Named;
use super::read::Fault;
use crate::list::RIGS;
use crate::say;

/// So long a test may take without a fault, and a rig with one.
const LONGEST: Duration = Duration::from_secs(300);

/// A test that waits for what a fault keeps from coming has seen it, if it usually passes in a
/// tenth of the time, and in less than this.
const PATIENCE: Duration = Duration::from_secs(20);

/// How often a test is looked at.
const LOOK: Duration = Duration::from_millis(5);

/// How a test ended.
#[derive(PartialEq)]
enum End {
    Passed,
    Failed,
    Waits,
}

/// One test and the faults that it names.
struct Trial<'t> {
    program: &'t Path,
    /// The full name of the test.
    name: &'t str,
    is_rig: bool,
    faults: Vec<&'t Fault>,
}

/// Whether every fault is named, and seen by each test that names it.
pub(crate) fn all(
    programs: &BTreeMap<String, PathBuf>,
    faults: &[&Fault],
    tests: &[Named],
) -> bool {
    let mut wrong = Vec::new();
    let names = names_of(programs);
    let mut trials = Vec::new();
    for test in tests {
        let named: Vec<&Fault> =
            faults.iter().copied().filter(|fault| test.faults.contains(&fault.name)).collect();
        if named.is_empty() {
            continue;
        }
        match names.get(test.target()).and_then(|all| all.iter().find(|name| test.is(name))) {
            Some(name) => trials.push(Trial {
                program: &programs[test.target()],
                name,
                is_rig: RIGS.iter().any(|rig| name.starts_with(rig.filter)),
                faults: named,
            }),
            None => wrong.push(format!("{}: {} is not among the tests", test.file, test.name)),
        }
    }
    for fault in faults {
        if !tests.iter().any(|test| test.faults.contains(&fault.name)) {
            wrong.push(format!("no test names the fault {}", fault.name));
        }
    }
    let pairs: usize = trials.iter().map(|trial| trial.faults.len()).sum();
    let tested = trials.len();
    wrong.extend(run(trials));
    let (failed, passed) = (wrong.len(), pairs - wrong.len().min(pairs));
    say(&wrong.join("\n"));
    let faults = faults.len();
    say(&format!(
        "figures faults: faults {faults}, tests {tested}, passed {passed}, failed {failed}"
    ));
    say(&format!("{passed} passed, {failed} failed"));
    failed == 0
}

/// The tests of each program.
fn names_of(programs: &BTreeMap<String, PathBuf>) -> BTreeMap<&str, Vec<String>> {
    let list = |program| {
        let said = Command::new(program).args(["--list", "--format=terse"]).output().expect("runs");
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        said.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
    };
    programs
        .iter()
        .filter(|(target, _)| *target != "rig")
        .map(|(target, program)| (target.as_str(), list(program)))
        .collect()
}

/// Two at a time; what was not as it should be.
fn run(trials: Vec<Trial<'_>>) -> Vec<String> {
    let (waiting, wrong) = (Mutex::new(trials), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let Some(trial) = waiting.lock().expect("no panic").pop() else { return };
                    for why in trial.judge() {
                        say(&why);
                        wrong.lock().expect("no panic").push(why);
                    }
                }
            });
        }
    });
    wrong.into_inner().expect("no panic")
}

impl Trial<'_> {
    fn judge(&self) -> Vec<String> {
        let (end, took) = self.end(None, LONGEST);
        if end != End::Passed {
            return vec![format!("{} does not pass although no fault is switched on", self.name)];
        }
        let patience = if self.is_rig { LONGEST } else { PATIENCE.max(took * 10) };
        let mut wrong = Vec::new();
        for fault in &self.faults {
            match self.end(Some(fault), patience).0 {
                End::Failed => {}
                End::Waits if !self.is_rig => {}
                _ => wrong.push(format!("{} does not see {}", self.name, fault.name)),
            }
        }
        wrong
    }

    fn end(&self, fault: Option<&Fault>, patience: Duration) -> (End, Duration) {
        let mut test = Command::new(self.program);
        test.args([self.name, "--exact"]).stdout(Stdio::null()).stderr(Stdio::null());
        test.current_dir(super::build::place());
        match fault {
            Some(fault) => test.env("LANEBOX_FAULT", &fault.name),
            // That a rig passes at its full size is another run's matter.
            None => test.env("LANEBOX_N", "1"),
        };
        wait(test.spawn().expect("the program runs"), patience)
    }
}

/// How a test ended, and about how long it took.
fn wait(mut child: Child, patience: Duration) -> (End, Duration) {
    let (_silent, pause) = mpsc::channel::<()>();
    let mut took = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait().expect("a child") {
            return (if status.success() { End::Passed } else { End::Failed }, took);
        }
        if took > patience {
            let _killed = child.kill();
            let _status = child.wait();
            return (End::Waits, took);
        }
        let _elapsed = pause.recv_timeout(LOOK);
        took += LOOK;
    }
}
