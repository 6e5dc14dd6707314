//! The one door by which time, identity, chance, the free room of the disk and hints of what other
//! programs write come in. Everything below it is a function of its arguments.

mod clock;
mod entropy;
mod hint;
mod room;

use std::path::Path;
use std::sync::{Arc, OnceLock};

use uuid::Uuid;

#[cfg(any(test, feature = "testing"))]
pub(crate) use clock::ManualClock;
pub(crate) use clock::{Clock, SystemClock};
pub(crate) use entropy::Entropy;
pub(crate) use hint::Hint;
use room::Disk;
pub(crate) use room::Room;

/// A clock and a source of chance, shared by every part of one handle.
#[derive(Clone)]
pub(crate) struct Env {
    clock: Arc<dyn Clock>,
    entropy: Arc<Entropy>,
    disk: Arc<Disk>,
    os_process: Option<Uuid>,
}

impl Env {
    /// The machine's clock and the operating system's chance.
    pub(crate) fn system() -> Env {
        static OS_PROCESS: OnceLock<Uuid> = OnceLock::new();
        let (clock, entropy) = (Arc::new(SystemClock::new()), Arc::new(Entropy::from_system()));
        let os_process = *OS_PROCESS.get_or_init(|| entropy.uuid(clock.now_ms()));
        Env { clock, entropy, disk: Arc::default(), os_process: Some(os_process) }
    }

    /// A clock and a seed of the caller's: the same ones repeat a run. Each holder of leases is as
    /// if in a process of its own.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn new(clock: Arc<dyn Clock>, seed: u64) -> Env {
        let (entropy, disk) = (Arc::new(Entropy::seeded(seed)), Arc::default());
        Env { clock, entropy, disk, os_process: None }
    }

    /// Wall clock, milliseconds since 1970 UTC.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Monotonic milliseconds of this boot, the same for every process of the machine.
    pub(crate) fn mono_ms(&self) -> i64 {
        self.mono_us() / 1_000
    }

    /// The same clock in microseconds, for measuring how long things take.
    pub(crate) fn mono_us(&self) -> i64 {
        self.clock.mono_us()
    }

    /// Names the boot that the monotonic clock belongs to.
    pub(crate) fn boot(&self) -> &str {
        self.clock.boot()
    }

    /// Names the operating system's process that a new holder of leases is in.
    pub(crate) fn os_process(&self) -> Uuid {
        self.os_process.unwrap_or_else(|| self.uuid())
    }

    /// A new UUIDv7 whose time is the wall clock's.
    pub(crate) fn uuid(&self) -> Uuid {
        self.entropy.uuid(self.now_ms())
    }

    /// A number from 0 to 1, for jitter.
    pub(crate) fn unit(&self) -> f64 {
        self.entropy.unit()
    }

    /// 32 bytes that nobody can guess (when the environment is the system's).
    pub(crate) fn secret(&self) -> [u8; 32] {
        self.entropy.secret()
    }

    /// The room of the file system that a directory is on, if the system tells.
    pub(crate) fn room(&self, directory: &Path) -> Option<Room> {
        self.disk.room(directory)
    }

    /// Hears of each write to this file, if the system tells. Who has a clock of its own hears
    /// nothing.
    pub(crate) fn hint(&self, file: &Path) -> Option<Hint> {
        self.os_process?;
        let unheard = |error: &std::io::Error| {
            tracing::info!(%error, "writes of others are not heard: the file is looked at often");
        };
        Hint::of(file).inspect_err(unheard).ok()
    }

    /// From now on the disk seems to have this much room; `None`: what it really has.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn pretend_room(&self, room: Option<Room>) {
        self.disk.pretend(room);
    }
}
