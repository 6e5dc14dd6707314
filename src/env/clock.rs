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
    boot: parking_lot::Mutex<&'static str>,
}

#[cfg(any(test, feature = "testing"))]
impl ManualClock {
    pub(crate) fn at(now_ms: i64) -> ManualClock {
        let boot = parking_lot::Mutex::new("boot-1");
        ManualClock { now_ms: now_ms.into(), mono_ms: 1_000_000.into(), boot }
    }

    /// The same instant after a reboot: the monotonic clock begins again.
    #[cfg(test)]
    pub(crate) fn rebooted(now_ms: i64, boot: &str) -> ManualClock {
        let clock = ManualClock::at(now_ms);
        clock.reboot(0, boot);
        clock
    }

    /// The machine was off for `off_ms`: everybody who has this clock is in the next boot.
    #[cfg(test)]
    pub(crate) fn reboot(&self, off_ms: i64, boot: &str) {
        use std::sync::atomic::Ordering::SeqCst;
        self.now_ms.fetch_add(off_ms, SeqCst);
        self.mono_ms.store(1_000, SeqCst);
        // A few bytes of a test, for as long as it runs.
        *self.boot.lock() = boot.to_owned().leak();
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
        *self.boot.lock()
    }
}
