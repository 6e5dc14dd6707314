//! The rigs, what each proves and where it lives.

/// A test that runs a world again and again.
pub(crate) struct Rig {
    pub(crate) name: &'static str,
    /// What it shows, as the README says it.
    pub(crate) shows: &'static str,
    /// What `--n` counts.
    pub(crate) counts: &'static str,
    /// The file or folder to read.
    pub(crate) place: &'static str,
    /// How cargo finds its target.
    pub(crate) target: &'static [&'static str],
    /// How the target finds its tests.
    pub(crate) filter: &'static str,
}

pub(crate) const RIGS: [Rig; 10] = [
    Rig {
        name: "sim",
        shows: "whole engines of several processes in virtual time, disturbed at every step",
        counts: "worlds",
        place: "tests/sim",
        target: &["--lib"],
        filter: "sim::whatever",
    },
    Rig {
        name: "model",
        shows: "random operations, compared with a plain model after each",
        counts: "operations",
        place: "src/store/conformance/random.rs",
        target: &["--lib"],
        filter: "store::conformance::random::",
    },
    Rig {
        name: "bus",
        shows: "events to routes and consumers of two processes, which fail and die in them",
        counts: "files",
        place: "src/engine/dispatcher/tests/random.rs",
        target: &["--lib"],
        filter: "dispatcher::tests::random::",
    },
    Rig {
        name: "ledger",
        shows: "sends through a provider that loses, delays and doubles, in four modes",
        counts: "files a mode",
        place: "src/engine/resolver/tests/random.rs",
        target: &["--lib"],
        filter: "resolver::tests::random::",
    },
    Rig {
        name: "power",
        shows: "the disks that may be found whenever the power fails, and fails again",
        counts: "disks",
        place: "tests/disk/power.rs",
        target: &["--test", "disk"],
        filter: "power::whenever",
    },
    Rig {
        name: "trouble",
        shows: "no room, a failing call, a failing flush, a lock, at every call, once and lasting",
        counts: "calls of an operation",
        place: "tests/disk/faults.rs",
        target: &["--test", "disk"],
        filter: "faults::whatever",
    },
    Rig {
        name: "kill",
        shows: "real processes, killed and frozen at any moment, judged by the logs of others",
        counts: "kills",
        place: "tests/torture/kill.rs",
        target: &["--test", "torture"],
        filter: "kill::processes",
    },
    Rig {
        name: "contention",
        shows: "six writers, a reader, a backup and a frozen lock holder on one file",
        counts: "seconds",
        place: "tests/torture/contention.rs",
        target: &["--test", "torture"],
        filter: "contention::six",
    },
    Rig {
        name: "damaged",
        shows: "damaged files: each answer is right, or says what happened and what to do",
        counts: "files",
        place: "tests/disk/damaged.rs",
        target: &["--test", "disk"],
        filter: "damaged::whatever",
    },
    Rig {
        name: "interleave",
        shows: "the bell, the commit of many and the stop, in every order of their threads",
        counts: "orders",
        place: "tests/interleave",
        target: &["--lib"],
        filter: "interleave::in_every_order",
    },
];

pub(crate) fn find(name: &str) -> Option<&'static Rig> {
    RIGS.iter().find(|rig| rig.name == name)
}

/// What a person reads.
pub(crate) fn text() -> String {
    RIGS.iter()
        .map(|rig| format!("  {:<10} {} (--n {})\n", rig.name, rig.shows, rig.counts))
        .collect()
}
