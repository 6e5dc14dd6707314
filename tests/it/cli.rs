//! The command line as people and scripts run it: the built binary, its two streams and its exit
//! code.

mod bench;
mod flush;
mod health;
mod input;
mod lists;
mod orders;
mod story;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::{JobId, Lane, Lanebox, NewJob, Outcome, Policy, Reactions};
use rusqlite::Connection;
use serde_json::Value;

/// A file of its own, and the binary that is asked about it.
struct Cli {
    db: PathBuf,
    _dir: tempfile::TempDir,
}

/// What a run of the binary answered.
#[derive(Debug)]
struct Answer {
    out: String,
    err: String,
    code: i32,
}

impl Cli {
    /// A new file, made by `init`.
    fn new() -> Cli {
        let dir = tempfile::tempdir().expect("a directory");
        let cli = Cli { db: dir.path().join("crm.db"), _dir: dir };
        cli.run(&["init"]).ok();
        cli
    }

    fn run(&self, args: &[&str]) -> Answer {
        self.fed(args, b"")
    }

    /// The same with something on stdin.
    fn fed(&self, args: &[&str], stdin: &[u8]) -> Answer {
        let mut child = command(&self.db)
            .args(args)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary runs");
        let mut pipe = child.stdin.take().expect("piped");
        // Who does not read its stdin may have gone already.
        let _ = pipe.write_all(stdin);
        drop(pipe);
        let done = child.wait_with_output().expect("it ends");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let code = done.status.code().expect("it was not killed");
        Answer { out: text(done.stdout), err: text(done.stderr), code }
    }

    /// The one JSON document that this answers.
    fn json(&self, args: &[&str]) -> Value {
        let answer = self.run(&[args, &["--json"]].concat());
        serde_json::from_str(answer.ok()).unwrap_or_else(|error| panic!("{error}: {answer:?}"))
    }

    fn sql(&self, sql: &str) {
        Connection::open(&self.db).and_then(|conn| conn.execute_batch(sql)).expect("rows");
    }

    /// One value of the file.
    fn value(&self, sql: &str) -> String {
        let conn = Connection::open(&self.db).expect("the file");
        let value = conn.query_row(sql, [], |row| row.get::<_, rusqlite::types::Value>(0));
        match value.expect("a value") {
            rusqlite::types::Value::Text(text) => text,
            rusqlite::types::Value::Integer(number) => number.to_string(),
            other => format!("{other:?}"),
        }
    }

    fn lanebox(&self) -> Lanebox {
        Lanebox::builder(&self.db).must_exist().open().expect("the file opens")
    }

    /// A job of org acme, unique as `order 7`, that a handler ended as dead.
    fn dead_job(&self, why: &'static str) -> JobId {
        let lanebox = self.lanebox();
        let job = NewJob::raw("turn", r#"{"n":1}"#, Lane::of("+4915112345678"));
        let job = job.org("acme").unique("order 7");
        let id = lanebox.enqueue(job).expect("accepted").id();
        let (ran, runs) = mpsc::channel();
        let reactions = Reactions::new().on_kind("turn", Policy::default(), move |_| {
            ran.send(()).expect("the test waits");
            Ok::<_, std::io::Error>(Outcome::dead(why))
        });
        let running = lanebox.start(reactions).expect("started");
        runs.recv_timeout(Duration::from_secs(30)).expect("it ran");
        let _ = running.stop(Duration::from_secs(10));
        let dead = lanebox.jobs(&Filter::new().state("dead")).expect("a page");
        assert_eq!(dead.rows[0].id, id);
        id
    }
}

impl Answer {
    /// What it said on stdout; it must have gone well, without a word on stderr.
    #[track_caller]
    fn ok(&self) -> &str {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        &self.out
    }

    /// What it said on stderr; it must have been refused, without a word on stdout.
    #[track_caller]
    fn refused(&self) -> &str {
        assert_eq!((self.code, self.out.as_str()), (1, ""), "{self:?}");
        &self.err
    }

    /// What it said on stderr; it must have been used wrongly.
    #[track_caller]
    fn misused(&self) -> &str {
        assert_eq!((self.code, self.out.as_str()), (2, ""), "{self:?}");
        &self.err
    }
}

fn command(db: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lanebox"));
    command.env("LANEBOX_DB", db).env("USER", "eva").env_remove("LOGNAME");
    command
}
