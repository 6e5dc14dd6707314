//! What every rig hears and says: the first seed and how much of it to run; a line that repeats a
//! failure; at the end its figures and `N passed, N failed`.

use std::fmt::Write as _;
use std::io::Write as _;

/// One rig of one run.
pub(crate) struct Rig {
    name: &'static str,
    /// The first seed.
    pub(crate) seed: u64,
    /// How much to run, in what this rig counts.
    pub(crate) n: u64,
    /// How much every test run has.
    usual: u64,
    failures: Vec<String>,
    passed: u64,
}

impl Rig {
    /// `LANEBOX_SEED` and `LANEBOX_N`, which `cargo rig NAME --seed S --n N` sets; without them the
    /// first seed and the size that every test run has.
    pub(crate) fn new(name: &'static str, n: u64) -> Rig {
        Rig {
            name,
            seed: setting("LANEBOX_SEED").unwrap_or(1),
            n: setting("LANEBOX_N").unwrap_or(n),
            usual: n,
            failures: Vec::new(),
            passed: 0,
        }
    }

    pub(crate) fn pass(&mut self, times: u64) {
        self.passed += times;
    }

    /// Something failed; `--seed SEED --n N` repeats it. Said at once: what follows may break off.
    pub(crate) fn fail(&mut self, why: &str, seed: u64, n: u64) {
        let replay = format!("replay: cargo rig {} --seed {seed} --n {n}", self.name);
        // A planted fault is seen: nobody needs to see it again.
        assert!(std::env::var_os("LANEBOX_FAULT").is_none(), "{why}\n{replay}");
        writeln!(std::io::stderr(), "{why}\n{replay}").expect("a line");
        self.failures.push(format!("{why}\n{replay}"));
    }

    /// A run of the usual size must have met this: one that did not proves nothing of it.
    pub(crate) fn must_meet(&mut self, what: &str, met: bool) {
        if !met && self.n >= self.usual {
            self.fail(&format!("never met: {what}"), self.seed, self.n);
        }
    }

    /// Says what was met, as `figures NAME: KEY VALUE, ...`, then what passed and failed.
    ///
    /// # Panics
    ///
    /// If anything failed, or nothing was tried at all.
    pub(crate) fn end(mut self, figures: &[(&str, u64)]) {
        if self.passed == 0 && self.failures.is_empty() {
            self.fail("nothing was tried: that proves nothing", self.seed, self.n);
        }
        let mut line = format!("figures {}: ", self.name);
        for (key, value) in figures {
            write!(line, "{key} {value}, ").expect("a string");
        }
        let (all, passed, failed) = (self.failures.join("\n\n"), self.passed, self.failures.len());
        write!(line, "passed {passed}, failed {failed}").expect("a string");
        writeln!(std::io::stderr(), "{line}\n{passed} passed, {failed} failed").expect("a line");
        assert!(failed == 0, "{all}\n{passed} passed, {failed} failed");
    }
}

fn setting(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}
