//! A worker: leads a pass when one is due, else runs what was claimed, else waits.

use std::sync::Arc;

use super::{Alive, Shared, spawn as spawn_thread};
use crate::engine::Engine;
use crate::engine::desk::Turn;
use crate::error::Result;

pub(super) fn spawn(shared: &Arc<Shared>) -> Result<()> {
    let alive = Alive::new(shared);
    spawn_thread("lanebox-worker".to_owned(), move || work(&alive.0.engine))
}

fn work(engine: &Arc<Engine>) {
    loop {
        match next(engine) {
            Turn::Run(begun) => {
                if !engine.run(&begun) {
                    // This thread was replaced while its run was over its time.
                    return;
                }
            }
            Turn::Lead => {
                if let Err(error) = engine.lead() {
                    tracing::error!(%error, "a pass failed; its ends are kept for a later one");
                }
            }
            Turn::Wait => {}
            Turn::Leave => return,
        }
    }
}

fn next(engine: &Engine) -> Turn {
    let mut desk = engine.desk.lock();
    loop {
        let turn = engine.turn(&mut desk);
        if !matches!(turn, Turn::Wait) {
            engine.wake_next(&mut desk);
            return turn;
        }
        desk.falls_asleep();
        engine.wake.wait(&mut desk);
        desk.comes();
    }
}
