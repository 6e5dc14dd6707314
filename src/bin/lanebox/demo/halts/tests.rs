//! A run waits where it was asked to, says so, and goes on when it is told to or left alone.

use std::io::{BufReader, PipeReader, PipeWriter, pipe};
use std::thread;

use super::*;

/// A process that can be stopped, and the demo's two ends of its pipes.
struct Rig {
    halts: Arc<Halts>,
    orders: PipeWriter,
    told: BufReader<PipeReader>,
}

fn rig() -> Rig {
    let (told, tells) = pipe().unwrap();
    let (heard, orders) = pipe().unwrap();
    let halts = Arc::new(Halts::new(Box::new(tells)));
    let hears = Arc::clone(&halts);
    thread::spawn(move || hears.hear(BufReader::new(heard)));
    Rig { halts, orders, told: BufReader::new(told) }
}

impl Rig {
    /// Waits until the order was heard.
    fn ask(&mut self, point: HaltPoint) {
        let before = self.halts.state.lock().asked.len();
        self.say(&Order::HaltAt(point));
        while self.halts.state.lock().asked.len() == before {
            thread::yield_now();
        }
    }

    fn say(&mut self, order: &Order) {
        writeln!(self.orders, "{}", serde_json::to_string(order).unwrap()).unwrap();
    }

    fn next(&mut self) -> String {
        let mut line = String::new();
        self.told.read_line(&mut line).unwrap();
        line
    }
}

#[test]
fn a_run_halts_where_it_was_asked_to_and_goes_on_when_told() {
    let mut rig = rig();
    rig.halts.reach(HaltPoint::Thinking, "m0", Some(1)); // nobody asked
    rig.ask(HaltPoint::Thinking);
    let halts = Arc::clone(&rig.halts);
    let run = thread::spawn(move || {
        halts.reach(HaltPoint::AfterClaim, "m1", Some(7)); // another point
        halts.reach(HaltPoint::Thinking, "m1", Some(7));
        halts.reach(HaltPoint::Thinking, "m1", Some(7)); // asked for once
    });
    assert_eq!(rig.next(), "{\"halted\":\"thinking\",\"message\":\"m1\",\"token\":7}\n");
    assert!(!run.is_finished());
    rig.say(&Order::Go(true));
    run.join().unwrap();
}

#[test]
fn go_withdraws_what_nobody_reached() {
    let mut rig = rig();
    rig.ask(HaltPoint::AfterClaim);
    rig.say(&Order::Go(true));
    while !rig.halts.state.lock().asked.is_empty() {
        thread::yield_now();
    }
    rig.halts.reach(HaltPoint::AfterClaim, "m1", None);
}

#[test]
fn whoever_waits_goes_on_when_the_demo_is_gone() {
    let mut rig = rig();
    rig.ask(HaltPoint::Halfway);
    let halts = Arc::clone(&rig.halts);
    let run = thread::spawn(move || halts.reach(HaltPoint::Halfway, "m1", None));
    assert_eq!(rig.next(), "{\"halted\":\"halfway\",\"message\":\"m1\",\"token\":null}\n");
    drop(rig.orders);
    run.join().unwrap();
}

#[test]
fn a_line_that_is_no_order_changes_nothing() {
    let mut rig = rig();
    writeln!(rig.orders, "halt!").unwrap();
    rig.ask(HaltPoint::AfterClaim);
    assert_eq!(rig.halts.state.lock().asked, [HaltPoint::AfterClaim]);
}
