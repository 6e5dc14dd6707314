//! A disk whose flushes fail, for real as far as the binary can tell: a command says that nobody
//! knows, and a process that goes on for long ends, because its file is closed for good.
#![cfg(all(target_os = "linux", target_env = "gnu", feature = "demo"))]

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout};

use super::*;

/// Flushes fail while the file that `DISK_IS_ILL` names is there.
const SHIM: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/syscall.h>

static int flush(long call, int file) {
  const char *ill = getenv("DISK_IS_ILL");
  if (ill && access(ill, F_OK) == 0) { errno = EIO; return -1; }
  return syscall(call, file);
}

int fsync(int file) { return flush(SYS_fsync, file); }
int fdatasync(int file) { return flush(SYS_fdatasync, file); }
"#;

/// A file on a disk that can fall ill: then no flush succeeds any more.
struct Disk {
    cli: Cli,
    shim: PathBuf,
    ill: PathBuf,
}

impl Disk {
    fn new() -> Disk {
        let cli = Cli::new();
        let beside = |name: &str| cli.db.with_file_name(name);
        let (source, shim, ill) = (beside("shim.c"), beside("shim.so"), beside("ill"));
        std::fs::write(&source, SHIM).expect("a source");
        let mut cc = Command::new("cc");
        let built = cc.args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source).status();
        assert!(built.expect("the C compiler that SQLite was built with").success());
        Disk { cli, shim, ill }
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = command(&self.cli.db);
        command.args(args).env("LD_PRELOAD", &self.shim).env("DISK_IS_ILL", &self.ill);
        command
    }

    fn falls_ill(&self) {
        std::fs::write(&self.ill, "").expect("a file");
    }

    /// It is well again: the file is sound, and can be written.
    fn is_kept(&self) {
        std::fs::remove_file(&self.ill).expect("it was ill");
        assert!(self.cli.run(&["doctor"]).ok().contains("none found anything"));
        self.cli.run(&["enqueue", "turn", "--org", "acme", "--no-lane"]).ok();
    }
}

/// A part of the demo that has said that it is ready. It ends with its stdin.
struct Part {
    process: Child,
    said: BufReader<ChildStdout>,
    stdin: Option<ChildStdin>,
}

impl Part {
    fn start(command: &mut Command) -> Part {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut process = piped.spawn().expect("it starts");
        let said = BufReader::new(process.stdout.take().expect("piped"));
        let stdin = process.stdin.take();
        Part { process, said, stdin }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.said.read_line(&mut line).expect("a line");
        line
    }

    /// The code that it ends with, by itself, and what it says of it.
    fn end(mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        let mut stderr = self.process.stderr.take().expect("piped");
        stderr.read_to_string(&mut said).expect("text");
        let code = self.process.wait().expect("it ends").code();
        drop(self.stdin);
        (code, said)
    }
}

#[test]
fn a_command_whose_flush_fails_says_that_nobody_knows_and_ends_with_1() {
    let disk = Disk::new();
    disk.falls_ill();
    let enqueue = ["enqueue", "turn", "--org", "acme", "--no-lane", "--dedupe", "k1"];
    let done = disk.command(&enqueue).output().expect("it runs");
    let said = String::from_utf8(done.stderr).expect("UTF-8");
    assert_eq!(done.status.code(), Some(1), "{said}");
    assert!(said.starts_with("lanebox: ") && said.lines().count() == 1, "{said}");
    assert!(said.contains("may or may not hold") && said.contains("same dedupe key"), "{said}");
    disk.is_kept();
    disk.cli.run(&enqueue).ok();
    let jobs = disk.cli.value("SELECT count(*) FROM lanebox_job");
    assert_eq!(jobs, "2", "of the one with a key there is one, whatever became of the first");
}

// fault: closed-worker-stays
#[test]
fn a_worker_whose_file_is_closed_for_good_ends_and_says_why() {
    let disk = Disk::new();
    let args = ["--provider", "http://127.0.0.1:9", "--mode", "dedupe", "--name", "w"];
    let db = disk.cli.db.to_str().expect("text");
    let args = [&["demo", "worker", "--db", db][..], &args].concat();
    let mut worker = Part::start(&mut disk.command(&args));
    assert!(worker.line().contains("ready"));
    disk.falls_ill();
    // To be routed by the worker, in a commit of its own.
    let publish = ["publish", "message.received", "{}", "--org", "acme"];
    disk.cli.run(&publish).ok();
    let (code, said) = worker.end();
    assert_eq!(code, Some(1), "{said}");
    let last = said.lines().last().unwrap_or_default();
    assert!(last.starts_with("lanebox: this handle is closed"), "{said}");
    assert!(last.contains("open the file again"), "{said}");
    disk.is_kept();
}

// fault: closed-receiver-stays
#[test]
fn a_receiver_whose_file_is_closed_for_good_ends_and_says_why() {
    let disk = Disk::new();
    let webhooks = command(&disk.cli.db).args(["demo", "webhooks"]).output().expect("it runs");
    let webhooks = String::from_utf8(webhooks.stdout).expect("UTF-8");
    let webhook = webhooks.lines().next().expect("a webhook");
    let db = disk.cli.db.to_str().expect("text");
    let args = ["demo", "receiver", "--db", db, "--listen", "127.0.0.1:0"];
    let mut receiver = Part::start(&mut disk.command(&args));
    let url: Value = serde_json::from_str(&receiver.line()).expect("its address");
    let address = url["url"].as_str().and_then(|url| url.strip_prefix("http://"));
    let address = address.expect("an address").to_owned();
    assert!(post(&address, webhook).starts_with("HTTP/1.1 200"));
    disk.falls_ill();
    let other = webhooks.lines().nth(1).expect("another");
    assert!(post(&address, other).starts_with("HTTP/1.1 503"), "the flush failed");
    assert_eq!(post(&address, other), "", "it is closed");
    let (code, said) = receiver.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("lanebox: this handle is closed"), "{said}");
    disk.is_kept();
}

/// What is answered; nothing if the other side has gone.
fn post(address: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).expect("it listens");
    let mut request = String::new();
    let length = body.len();
    let head = "POST /webhook HTTP/1.1\r\nHost: a\r\nConnection: close\r\n";
    write!(request, "{head}Content-Length: {length}\r\n\r\n{body}").expect("a string");
    stream.write_all(request.as_bytes()).expect("sent");
    let mut answer = String::new();
    // It may end in the midst of it.
    let _ = stream.read_to_string(&mut answer);
    answer
}
