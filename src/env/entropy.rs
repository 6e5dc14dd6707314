//! Chance and identity: the operating system's, or seeded so that a run can be repeated.

use parking_lot::Mutex;
use uuid::Uuid;

pub(crate) struct Entropy {
    // Seeds, jitter and the random part of ids. Secrets of real files come from the system itself.
    random: Mutex<fastrand::Rng>,
    seeded: bool,
    last: Mutex<(i64, u16)>,
}

impl Entropy {
    pub(crate) fn from_system() -> Entropy {
        let mut seed = [0; 8];
        getrandom::fill(&mut seed).expect("the operating system gives random bytes");
        Entropy::with(fastrand::Rng::with_seed(u64::from_le_bytes(seed)), false)
    }

    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn seeded(seed: u64) -> Entropy {
        Entropy::with(fastrand::Rng::with_seed(seed), true)
    }

    fn with(random: fastrand::Rng, seeded: bool) -> Entropy {
        Entropy { random: Mutex::new(random), seeded, last: Mutex::new((0, 0)) }
    }

    pub(crate) fn unit(&self) -> f64 {
        self.random.lock().f64()
    }

    pub(crate) fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        if self.seeded {
            self.random.lock().fill(&mut secret);
        } else {
            getrandom::fill(&mut secret).expect("the operating system gives random bytes");
        }
        secret
    }

    /// A UUIDv7: 48 bits of time, a counter that keeps ids of one millisecond in order, 62 bits of
    /// chance.
    pub(crate) fn uuid(&self, now_ms: i64) -> Uuid {
        let (at, count) = self.next_tick(now_ms);
        let low: u64 = self.random.lock().u64(..);
        let mut bytes = [0; 10];
        bytes[0..2].copy_from_slice(&count.to_be_bytes());
        bytes[2..10].copy_from_slice(&low.to_be_bytes());
        uuid::Builder::from_unix_timestamp_millis(at.unsigned_abs(), &bytes).into_uuid()
    }

    // The clock may stand still or step back: ids of one process still ascend.
    fn next_tick(&self, now_ms: i64) -> (i64, u16) {
        let mut last = self.last.lock();
        let (at, count) = *last;
        *last = if now_ms > at {
            (now_ms, 0)
        } else if count < 0x0fff {
            (at, count + 1)
        } else {
            (at + 1, 0)
        };
        *last
    }
}
