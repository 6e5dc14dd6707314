//! The seam of processes: who holds leases, who is gone, and what others did to the store.

use crate::env::Hint;
use crate::error::Result;
use crate::model::id::{KindNo, ProcessNo, Token};

/// Verbs on the processes that share a store.
pub(crate) trait Processes {
    /// Registers a holder of leases; it counts as alive until it leaves or its operating system
    /// process ends.
    fn register(&self) -> Result<ProcessNo>;

    /// Writes down what a process has code for, as long as it lives; the numbers of the kinds, in
    /// their order.
    fn announce(&self, process: ProcessNo, kinds: Vec<Announced>) -> Result<Vec<KindNo>>;

    /// Tells a person of the kinds whose jobs have waited for longer than a deploy and that no
    /// living process has code for; how many are new. Writes nothing if there is none.
    fn tell_unhandled(&self) -> Result<usize>;

    /// An orderly end: what it still held may be taken at once.
    fn leave(&self, process: ProcessNo) -> Result<()>;

    /// Looks for processes that are gone; whether one was found.
    fn sweep(&self) -> Result<bool>;

    /// What a reaper of this process should know before it asks for the right to write.
    fn watch(&self, me: ProcessNo) -> Result<Watch>;

    /// The runs of this process that a person asked to stop.
    fn cancel_asked(&self, me: ProcessNo) -> Result<Vec<Token>>;

    /// Waits for the right to write and writes nothing.
    fn touch(&self) -> Result<()>;

    /// A number that grows when another handle has committed: equal ones mean that nothing new is
    /// to be seen.
    fn generation(&self) -> Result<u64>;

    /// Hears whoever writes to the store, perhaps before what was written can be seen, and perhaps
    /// not at all: it only says when a look is worth it. `None` if nothing is heard.
    fn hint(&self) -> Option<Hint>;
}

/// Whether there is anything for a reaper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Watch {
    /// Another process holds a lease: it may vanish, and it must have had its chance to renew.
    pub(crate) others_hold: bool,
    /// A lease is over, its holder is gone, or a lane is being cancelled.
    pub(crate) to_take_back: bool,
}

/// A kind that a process has code for, and what that code says of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) kind: String,
    /// It gives its lane back between two tries.
    pub(crate) yields: bool,
}
