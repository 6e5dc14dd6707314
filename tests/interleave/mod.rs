//! The parts that threads meet in, in orders that a seed chooses: the bell, the commit of many, the
//! stop. What runs is the product's own source; its locks and waits are those of a model
//! (`sync::model`), which runs one thread at a time and decides at each lock and wait who goes on.
//! A thread that waits for a wake that never comes is a deadlock, and the model says so.

mod commit;
mod ring;
mod stop;

use std::panic::{AssertUnwindSafe, catch_unwind};

use shuttle::scheduler::{PctScheduler, RandomScheduler};
use shuttle::{Config, FailurePersistence, MaxSteps, Runner};

use crate::say::Rig;
use crate::sync::model::inside;

/// Orders of a run that does not say.
const ORDERS: u64 = 20_000;

/// Of a model's thread; SQLite wants more.
const STACK: usize = 64 << 10;
const OF_SQLITE: usize = 1 << 20;

/// More choices than any of these makes, unless it goes round for ever.
const MOST_CHOICES: usize = 100_000;

/// What is modelled.
struct Model {
    name: &'static str,
    /// How many of a hundred orders it gets: a ring is cheap, an engine is not.
    share: u64,
    stack: usize,
    body: fn(u64),
}

const fn model(name: &'static str, share: u64, stack: usize, body: fn(u64)) -> Model {
    Model { name, share, stack, body }
}

const MODELS: [Model; 4] = [
    model("bell", 69, STACK, ring::everybody_hears_the_last_ring),
    model("signal", 18, STACK, ring::whoever_waits_hears_the_signal),
    model("commit", 12, OF_SQLITE, commit::each_hears_what_became_of_it),
    model("stop", 1, OF_SQLITE, stop::an_engine_ends_in_order),
];

// fault: ring-while-looking-is-missed, nobody-leads-next, stop-wakes-nobody
#[test]
fn in_every_order_nobody_waits_for_ever_and_nothing_is_done_twice() {
    // Outside of the model: whatever it locks would choose orders too, in the first of them.
    stop::prepare();
    let mut rig = Rig::new("interleave", ORDERS);
    let mut figures = MODELS.map(|model| (model.name, 0));
    for seed in rig.seed..rig.seed + rig.n {
        let which = of(seed);
        let model = &MODELS[which];
        figures[which].1 += 1;
        match catch_unwind(AssertUnwindSafe(|| in_order(seed, model))) {
            Ok(()) => rig.pass(1),
            Err(panic) => {
                let why = crate::engine::run::panic_text(&*panic);
                rig.fail(&format!("{}: {why}", model.name), seed, 1);
            }
        }
    }
    rig.end(&figures);
}

fn of(seed: u64) -> usize {
    let mut at = seed % 100;
    let found = MODELS.iter().position(|model| {
        let mine = at < model.share;
        at = at.saturating_sub(model.share);
        mine
    });
    found.expect("a hundred in all")
}

/// Runs the model once, in the order that the seed chooses: of two kinds of chance, one of which
/// holds on to a thread for longer.
fn in_order(seed: u64, model: &Model) {
    let mut config = Config::new();
    config.stack_size = model.stack;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::FailAfter(MOST_CHOICES);
    config.silence_warnings = true;
    let body = model.body;
    let run = move || inside(|| body(seed));
    match fastrand::Rng::with_seed(seed).bool() {
        true => Runner::new(RandomScheduler::new_from_seed(seed, 1), config).run(run),
        // Its first order only measures how long one is.
        false => Runner::new(PctScheduler::new_from_seed(seed, 3, 2), config).run(run),
    };
}
