//! The room of the disk and the size of the log: nothing new is begun while the disk is nearly
//! full, and the log is taken over beside the work.

#[cfg(test)]
mod tests;

use crate::engine::Engine;
use crate::engine::desk::Desk;
use crate::engine::dispatcher::{Dispatcher, Step};
use crate::error::Result;
use crate::model::room::RoomMode;
use crate::store::space::Checkpointed;

/// How often the room and the log are looked at.
pub(crate) const LOOK_MS: i64 = 1_000;

/// How often somebody looks whether the log should be taken over.
const CHECKPOINT_MS: i64 = 50;

/// The same while nobody writes. What comes meanwhile, the writer takes over itself if it must.
const QUIET_MS: i64 = 250;

/// Whoever was in the way is left in peace for this long.
const IN_THE_WAY_MS: i64 = 1_000;

impl Engine {
    // Else no job is claimed and no event dispatched.
    fn has_room(&self) -> bool {
        self.store.room_mode() == RoomMode::Plenty
    }

    /// One step of dispatch; while there is no room, events wait where they are.
    ///
    /// # Errors
    /// As the dispatcher's own step.
    pub(crate) fn dispatch_step(&self, dispatcher: &mut Dispatcher) -> Result<Step> {
        if !self.has_room() {
            return Ok(Step::OnBell);
        }
        dispatcher.step(&*self.store, |dispatch| self.dispatch(dispatch))
    }

    /// The desk asks for new work only while there is room for it.
    pub(crate) fn note_room(&self, desk: &mut Desk) {
        desk.no_room = !self.has_room();
    }

    /// Takes the log over if it is time to; in how many milliseconds it wants the next look.
    ///
    /// # Errors
    /// Whatever the store answers; the next look does it again.
    pub(crate) fn checkpoint(&self) -> Result<i64> {
        Ok(match self.store.checkpoint(self.process)? {
            Checkpointed::NotDue | Checkpointed::Done => CHECKPOINT_MS,
            Checkpointed::Quiet => QUIET_MS,
            Checkpointed::NotDone => IN_THE_WAY_MS,
        })
    }
}

/// Looks at the room, wakes who waited for it, and lets people know.
#[derive(Default)]
pub(crate) struct SpaceWatch {
    waits: bool,
}

impl SpaceWatch {
    /// One look.
    ///
    /// # Errors
    /// Nobody could be told: the next look tries again.
    pub(crate) fn step(&mut self, engine: &Engine) -> Result<()> {
        let waits = engine.store.look_at_space() != RoomMode::Plenty;
        if std::mem::replace(&mut self.waits, waits) && !waits {
            engine.ring();
        }
        engine.store.tell_space().map(drop)
    }
}
