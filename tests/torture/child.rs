//! A process of a rig, as the rig sees it: what it said, and the signals that it is sent.

use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child as Process, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal};

use crate::clock::{now, within};
use crate::part::{MARK, ORDER, Order};

/// Longer than anything that a healthy process needs.
const LONG: Duration = Duration::from_secs(60);

/// A running part. It is killed when it is dropped.
pub struct Child {
    pub order: Order,
    process: Process,
    hears: Receiver<String>,
    said: Vec<String>,
}

impl Child {
    pub fn start(order: &Order) -> Child {
        let own = std::env::current_exe().expect("this binary");
        let name = format!("{:?}-{}.err", order.part, order.life);
        let stderr = File::create(order.dir.join(name)).expect("a file for its errors");
        let text = serde_json::to_string(order).expect("an order");
        let mut process = Command::new(own)
            .args(["part::plays_its_part", "--exact", "--nocapture", "--quiet"])
            .env(ORDER, text)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("a child");
        let out = BufReader::new(process.stdout.take().expect("piped"));
        let (tell, hears) = channel();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                // The harness may have begun the line.
                if let Some((_, said)) = line.split_once(MARK) {
                    // The rig may have let it go.
                    let _ = tell.send(said.to_owned());
                }
            }
        });
        Child { order: order.clone(), process, hears, said: Vec::new() }
    }

    pub fn id(&self) -> u32 {
        self.process.id()
    }

    /// Everything that it said so far.
    pub fn said(&mut self) -> &[String] {
        self.said.extend(self.hears.try_iter());
        &self.said
    }

    pub fn has_said(&mut self, what: &str) -> bool {
        self.said().iter().any(|line| line == what)
    }

    /// The rest of the line that began with this word.
    pub fn told(&mut self, word: &str) -> Option<String> {
        let of = |line: &String| line.strip_prefix(word).map(|rest| rest.trim().to_owned());
        self.said().iter().find_map(of)
    }

    /// Whether it says this soon.
    pub fn says(&mut self, what: &str) -> bool {
        within(LONG, || self.has_said(what) || self.is_over()) && self.has_said(what)
    }

    pub fn is_over(&mut self) -> bool {
        self.process.try_wait().expect("a child of ours").is_some()
    }

    /// Whether it comes to its end by itself and well.
    pub fn ends_well(&mut self) -> bool {
        within(LONG, || self.is_over()) && self.process.wait().is_ok_and(|status| status.success())
    }

    pub fn tell(&mut self, line: &str) {
        let mut stdin = self.process.stdin.as_ref().expect("piped");
        // It may be dead already.
        let _ = writeln!(stdin, "{line}");
    }

    pub fn signal(&self, signal: Signal) {
        let process = Pid::from_child(&self.process);
        // It may have ended by itself, and is not waited for yet.
        let _ = rustix::process::kill_process(process, signal);
    }

    /// SIGSTOP, and waits until every thread of it stands still: one that does not could still take
    /// a lock.
    pub fn freeze(&mut self) -> bool {
        self.signal(Signal::STOP);
        let threads = format!("/proc/{}/task", self.id());
        let stands = || {
            let Ok(threads) = std::fs::read_dir(&threads) else { return true };
            threads.flatten().all(|thread| stands_still(&thread.path().join("stat")))
        };
        within(LONG, stands) && !self.is_over()
    }

    pub fn thaw(&self) {
        self.signal(Signal::CONT);
    }

    /// SIGKILL, and waits for its last word. It lived until this time at least; none if it had
    /// ended before.
    pub fn kill(&mut self) -> Option<u64> {
        let lived = !self.is_over();
        let at = now();
        self.signal(Signal::KILL);
        self.process.wait().expect("a child of ours");
        self.said.extend(self.hears.iter());
        lived.then_some(at)
    }

    /// What it wrote to stderr, the end of it.
    pub fn errors(&self) -> String {
        let name = format!("{:?}-{}.err", self.order.part, self.order.life);
        let text = std::fs::read_to_string(self.order.dir.join(name)).unwrap_or_default();
        let lines: Vec<&str> = text.lines().collect();
        lines[lines.len().saturating_sub(5)..].join(" / ")
    }
}

/// Stopped or ended; a thread that is gone cannot be read.
fn stands_still(stat: &Path) -> bool {
    let stat = std::fs::read_to_string(stat).unwrap_or_default();
    stat.rsplit_once(") ").is_none_or(|(_, rest)| rest.starts_with(['T', 'Z', 'X']))
}

impl Drop for Child {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
