//! Clocks: the machine's, and one that a test moves by hand.

/// Wall time for people and due times; monotonic time and a boot id for leases.
pub(crate) trait Clock: Send + Sync {
    /// Milliseconds since 1970 UTC. May step in either direction.
    fn now_ms(&self) -> i64;
    /// Microseconds that the machine was awake since its boot. Never steps back within one boot.
    fn mono_us(&self) -> i64;
    /// Names the boot of `mono_us`.
    fn boot(&self) -> &str;
}

/// The machine's own clocks.
pub(crate) struct SystemClock {
    boot: String,
}

impl SystemClock {
    pub(crate) fn new() -> SystemClock {
        SystemClock { boot: boot_id() }
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    fn now_ms(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |passed| i64::try_from(passed.as_millis()).unwrap_or(i64::MAX))
    }

    #[cfg(target_os = "linux")]
    fn mono_us(&self) -> i64 {
        // CLOCK_MONOTONIC stands still while the machine sleeps, and so do the holders of leases.
        let at = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        at.tv_sec * 1_000_000 + at.tv_nsec / 1_000
    }

    #[cfg(not(target_os = "linux"))]
    fn mono_us(&self) -> i64 {
        // No clock that all processes of the machine share: leases there must be long (60 s or
        // more).
        self.now_ms() * 1_000
    }

    fn boot(&self) -> &str {
        &self.boot
    }
}

#[cfg(target_os = "linux")]
fn boot_id() -> String {
    // Without it two boots look alike: a lease then ends by its time instead of at once.
    std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
        .map_or_else(|_| "unknown-boot".to_owned(), |id| id.trim().to_owned())
}

#[cfg(not(target_os = "linux"))]
fn boot_id() -> String {
    "unknown-boot".to_owned()
}

/// A clock that stands still until it is moved.
#[cfg(any(test, feature = "testing"))]
pub(crate) struct ManualClock {
    now_ms: std::sync::atomic::AtomicI64,
    mono_ms: std::sync::atomic::AtomicI64,
    boot: String,
    /// Reboots since, each of which has a name.
    #[cfg(test)]
    reboots: std::sync::atomic::AtomicUsize,
}

/// Names of the boots that follow one another under one clock.
#[cfg(test)]
const LATER_BOOTS: [&str; 6] =
    ["boot later", "boot 2 later", "boot 3 later", "boot 4 later", "boot 5 later", "boot 6 later"];

#[cfg(any(test, feature = "testing"))]
impl ManualClock {
    pub(crate) fn at(now_ms: i64) -> ManualClock {
        ManualClock::since(now_ms, 1_000_000, "boot-1")
    }

    fn since(now_ms: i64, mono_ms: i64, boot: &str) -> ManualClock {
        ManualClock {
            now_ms: now_ms.into(),
            mono_ms: mono_ms.into(),
            boot: boot.to_owned(),
            #[cfg(test)]
            reboots: 0.into(),
        }
    }

    /// The same instant after a reboot: the monotonic clock begins again.
    #[cfg(test)]
    pub(crate) fn rebooted(now_ms: i64, boot: &str) -> ManualClock {
        ManualClock::since(now_ms, 1_000, boot)
    }

    /// The machine was off for `off_ms`. Everybody who has this clock is in the next boot; whether
    /// there is a name for it.
    #[cfg(test)]
    pub(crate) fn reboot(&self, off_ms: i64) -> bool {
        use std::sync::atomic::Ordering::SeqCst;
        if self.reboots.load(SeqCst) == LATER_BOOTS.len() {
            return false;
        }
        self.reboots.fetch_add(1, SeqCst);
        self.now_ms.fetch_add(off_ms, SeqCst);
        self.mono_ms.store(1_000, SeqCst);
        true
    }

    /// Lets `ms` pass on both clocks.
    pub(crate) fn advance(&self, ms: i64) {
        self.now_ms.fetch_add(ms, std::sync::atomic::Ordering::SeqCst);
        self.mono_ms.fetch_add(ms, std::sync::atomic::Ordering::SeqCst);
    }

    /// Steps the wall clock alone, in either direction.
    #[cfg(test)]
    pub(crate) fn step_wall(&self, ms: i64) {
        self.now_ms.fetch_add(ms, std::sync::atomic::Ordering::SeqCst);
    }
}

#[cfg(any(test, feature = "testing"))]
impl Clock for ManualClock {
    fn now_ms(&self) -> i64 {
        self.now_ms.load(std::sync::atomic::Ordering::SeqCst)
    }

    fn mono_us(&self) -> i64 {
        self.mono_ms.load(std::sync::atomic::Ordering::SeqCst) * 1_000
    }

    fn boot(&self) -> &str {
        #[cfg(test)]
        if let Some(later) = self.reboots.load(std::sync::atomic::Ordering::SeqCst).checked_sub(1) {
            return LATER_BOOTS[later];
        }
        &self.boot
    }
}
