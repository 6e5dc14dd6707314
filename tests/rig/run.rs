//! One rig, through cargo: what it says is shown as it comes, and its figures are kept.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use super::list::Rig;
use super::say;

/// What a run came to.
pub(crate) struct Ran {
    pub(crate) is_good: bool,
    /// In the order in which the rig says them; a rig of several tests adds them up.
    pub(crate) figures: Vec<(String, u64)>,
}

pub(crate) fn run(rig: &Rig, seed: Option<u64>, n: Option<u64>) -> Ran {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["test", "--quiet", "--all-features"]).args(rig.target);
    cargo.args(["--", "--nocapture", rig.filter]).stderr(Stdio::piped());
    for (name, value) in [("LANEBOX_SEED", seed), ("LANEBOX_N", n)] {
        cargo.env_remove(name);
        if let Some(value) = value {
            cargo.env(name, value.to_string());
        }
    }
    let mut child = cargo.spawn().expect("cargo runs");
    let mut figures = Vec::new();
    for line in BufReader::new(child.stderr.take().expect("piped")).lines() {
        let line = line.expect("text");
        if let Some(said) = said(rig, &line) {
            add(&mut figures, said);
        }
        say(&line);
    }
    let status = child.wait().expect("cargo ends");
    Ran { is_good: status.success() && !figures.is_empty(), figures }
}

/// The figures of this rig, if a line says them.
pub(crate) fn said<'l>(rig: &Rig, line: &'l str) -> Option<&'l str> {
    line.split_once(&format!("figures {}: ", rig.name)).map(|(_, said)| said)
}

pub(crate) fn add(figures: &mut Vec<(String, u64)>, said: &str) {
    for pair in said.split(", ") {
        let (key, value) = pair.rsplit_once(' ').expect("KEY VALUE");
        let value: u64 = value.parse().expect("a number");
        match figures.iter_mut().find(|(known, _)| known == key) {
            Some((_, sum)) => *sum += value,
            None => figures.push((key.to_owned(), value)),
        }
    }
}
