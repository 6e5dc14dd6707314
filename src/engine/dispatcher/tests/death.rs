//! A route that ends its process for real: the same test program is started once more and dies in
//! the route.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::*;
use crate::env::Env;
use crate::store::sqlite::Opening;

/// Names the file to the process that is to die.
const FILE: &str = "LANEBOX_TEST_DIES_ON";

fn poison() -> Vec<Subscription> {
    let kills = route("drain", "*", |event| {
        if event.name() == "poison.x" {
            let me = rustix::process::getpid();
            rustix::process::kill_process(me, rustix::process::Signal::KILL).expect("it ends here");
        }
        one_turn(event)
    });
    vec![kills, consume("a", "*")]
}

fn start(path: &Path, subscriptions: Vec<Subscription>) -> Process {
    let how = Opening { busy_ms: 5_000, ..Opening::default() };
    let store = SqliteStore::open(path, Env::system(), &how).expect("the file opens");
    Process::on(store, subscriptions)
}

// Not a test of its own: what the test below starts. Without a file it has nothing to do.
#[test]
fn the_process_that_dies() {
    let Some(path) = std::env::var_os(FILE) else { return };
    let mut process = start(&PathBuf::from(path), poison());
    process.drain();
}

fn run(path: &Path) -> bool {
    let this = std::env::current_exe().expect("a test program");
    let mut command = Command::new(this);
    command.args(["--exact", "engine::dispatcher::tests::death::the_process_that_dies"]);
    command.env(FILE, path).output().expect("it starts").status.success()
}

// fault: nobody-dies-in-a-route, nobody-is-buried-first
#[test]
fn a_route_that_kills_every_process_ends_after_two_and_the_rest_goes_on() {
    let scratch = Scratch::new();
    let path = scratch.path().with_file_name("real.db");
    let process = start(&path, poison());
    process.publish(["a.b", "poison.x", "a.b"].map(event));
    process.store.leave(process.no).expect("left");
    drop(process);
    let (mut deaths, mut well) = (0, false);
    while deaths < 10 && !well {
        well = run(&path);
        deaths += usize::from(!well);
    }
    assert_eq!(deaths, 2, "once among others, once alone");
    let conn = rusqlite::Connection::open(&path).expect("the file");
    let deliveries = "SELECT group_concat(x, ', ') FROM (SELECT c.key || ' ' || d.event || ' ' || d.state AS x FROM lanebox_delivery d \
                      JOIN lanebox_consumer c ON c.id = d.consumer ORDER BY c.key, d.event)";
    let deliveries: String = conn.query_row(deliveries, [], |row| row.get(0)).expect("deliveries");
    assert_eq!(
        deliveries,
        "a 1 job, a 2 job, a 3 job, drain 1 routed, drain 2 dead, drain 3 routed"
    );
}
