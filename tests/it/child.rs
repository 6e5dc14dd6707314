//! Another process: this very test binary, asked by its environment to play one part of a test.

use std::io::{BufRead, BufReader, Lines, Write, stdin};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child as Process, ChildStdin, ChildStdout, Command, Stdio};

use rustix::process::WaitOptions;

use crate::scene::until;

/// Before what a part says, so that what the test harness says is not taken for it.
const MARK: &str = "part> ";

/// A running part. It is killed when it is dropped.
pub struct Child {
    process: Process,
    said: Lines<BufReader<ChildStdout>>,
}

impl Child {
    /// Starts a part on this file.
    pub fn start(part: &str, file: &Path) -> Child {
        let own = std::env::current_exe().expect("this binary");
        Child::run(&mut Command::new(own), part, file)
    }

    /// The same as another user. Only root can do that.
    pub fn start_as(user: u32, binary: &Path, part: &str, file: &Path) -> Child {
        Child::run(Command::new(binary).uid(user).gid(user).current_dir("/"), part, file)
    }

    /// Starts a part by a command of the test's own that ends in this binary.
    pub fn run(command: &mut Command, part: &str, file: &Path) -> Child {
        let mut process = command
            .args(["child::plays_its_part", "--exact", "--nocapture", "--quiet"])
            .env("LANEBOX_PART", part)
            .env("LANEBOX_FILE", file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("a child");
        let said = BufReader::new(process.stdout.take().expect("piped")).lines();
        Child { process, said }
    }

    /// What it says next, or none when it has ended.
    pub fn hear(&mut self) -> Option<String> {
        let lines = self.said.by_ref().map(|line| line.expect("text"));
        // The harness may have begun the line.
        lines.filter_map(|line| Some(line.split_once(MARK)?.1.to_owned())).next()
    }

    /// Lets it go on to its next step.
    pub fn nudge(&mut self) {
        let mut stdin = self.process.stdin.as_ref().expect("piped");
        writeln!(stdin).expect("it listens");
    }

    /// What keeps it waiting: dropping it lets it end.
    pub fn hang_up(&mut self) -> ChildStdin {
        self.process.stdin.take().expect("piped")
    }

    /// Stops it, or lets it go on.
    pub fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(process, signal).expect("it is there");
    }

    /// Stops it, and waits until every thread of it stands still: one that does not could still
    /// take a lock.
    pub fn freeze(&self) {
        self.signal(rustix::process::Signal::STOP);
        let process = rustix::process::Pid::from_child(&self.process);
        let stopped = rustix::process::waitpid(Some(process), WaitOptions::UNTRACED);
        let stopped = stopped.expect("a child of ours").is_some_and(|(_, how)| how.stopped());
        assert!(stopped, "it stands still");
    }

    /// Whether it came to its end by itself and well.
    pub fn ended_well(&mut self) -> bool {
        until("the child has ended", || {
            self.process.try_wait().expect("a child of ours").is_some()
        });
        self.process.wait().expect("a child of ours").success()
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        self.process.kill().expect("killed");
        self.process.wait().expect("ended");
    }

    /// What it says until it ends by itself.
    pub fn rest(mut self) -> Vec<String> {
        drop(self.process.stdin.take());
        std::iter::from_fn(|| self.hear()).collect()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Says a line to the test.
pub fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{MARK}{line}").and_then(|()| out.flush()).expect("the test listens");
}

/// Waits for the test's nudge; whether there was one before it hung up.
pub fn wait() -> bool {
    let mut line = String::new();
    stdin().read_line(&mut line).expect("text") > 0
}

/// Run by children only: in the test run itself there is no part, and nothing to do.
#[test]
fn plays_its_part() {
    let Ok(part) = std::env::var("LANEBOX_PART") else { return };
    let file = std::env::var_os("LANEBOX_FILE").expect("a file");
    let file = Path::new(&file);
    match part.as_str() {
        "open" => crate::start::open(file),
        "hold" => crate::start::hold(file),
        "enqueue" => crate::kept::enqueue(file),
        "same keys" => crate::kept::same_keys(file),
        "fill" => crate::full::fill(file),
        "small disk" => crate::space::small_disk(file),
        "small limit" => crate::space::small_limit(file),
        "drain" => crate::drain::drain(file),
        "open existing" => crate::strangers::open_existing(file),
        "mortal" => crate::death::mortal(file),
        "mortal twins" => crate::death::mortal_twins(file),
        "hold jobs" => crate::death::hold_jobs(file),
        "drain lanes" => crate::lanes::drain(file),
        "freeze" => crate::leases::freeze(file),
        "count threads" => crate::hung::count_threads(file),
        "stop" => crate::stop::stop(file),
        "leave" => crate::stop::leave(file),
        other => panic!("no part {other}"),
    }
}
