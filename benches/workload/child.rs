//! The executable of a bench as a second process: it says lines, and ends when nobody listens.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

/// Another process, killed when it is dropped.
pub struct Other {
    child: Child,
    input: Option<ChildStdin>,
    lines: BufReader<ChildStdout>,
}

impl Other {
    /// Starts this executable again in a role, on a file.
    pub fn start(role: &str, path: &Path) -> Other {
        let me = std::env::current_exe().expect("this executable");
        let mut command = Command::new(me);
        command.arg(role).arg(path).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().expect("a second process");
        let input = child.stdin.take();
        let lines = BufReader::new(child.stdout.take().expect("it is piped"));
        Other { child, input, lines }
    }

    /// Its next line.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.lines.read_line(&mut line).expect("a line of the other process");
        assert!(read > 0, "the other process has ended");
        line.trim_end().to_owned()
    }

    /// Tells it to end; its last line.
    pub fn end(mut self) -> String {
        drop(self.input.take());
        let last = self.line();
        assert!(self.child.wait().expect("it ends").success());
        last
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        // It has ended already, or something here has failed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The file of this role, if this process was started in it.
pub fn role(name: &str) -> Option<std::path::PathBuf> {
    let mut args = std::env::args().skip(1);
    (args.next()? == name).then(|| args.next().expect("a role has a file").into())
}

/// Says a line to whoever started this process.
pub fn say(line: impl std::fmt::Display) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush()).expect("somebody listens");
}

/// Returns when whoever started this process wants its end.
pub fn wait_for_end() {
    let mut rest = Vec::new();
    std::io::stdin().read_to_end(&mut rest).expect("an input");
}
