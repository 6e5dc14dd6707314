//! One sentence of advice, from the figures alone.

/// No device that keeps what it flushed does it so often for one thread: each flush here makes a
/// file longer, which is a write of the block and one of the file system's own log.
const HONEST_FLUSHES: f64 = 20_000.0;

/// Below this something else is in the way of the engine.
const NEAR_THE_FLOOR: f64 = 0.5;

/// From here on giving up a promise buys something.
const WORTH_IT: f64 = 2.0;

/// What decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// The directory is in memory.
    pub in_memory: bool,
    /// Appends with a flush each, per second.
    pub flushes: f64,
    /// The smallest part of its floor that the engine reached at full durability, where the two
    /// are alike.
    pub least_ratio: f64,
    /// One client's acceptance, relaxed as a multiple of full.
    pub enqueue_gain: f64,
    /// A drain with 8 workers, relaxed as a multiple of full.
    pub drain_gain: f64,
}

/// What the figures say of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    InMemory,
    NoFlush,
    Busy,
    Relaxed,
    Full,
}

impl Verdict {
    /// The first that holds: what makes other figures worthless comes before them.
    pub fn of(seen: &Seen) -> Verdict {
        if seen.in_memory {
            Verdict::InMemory
        } else if seen.flushes > HONEST_FLUSHES {
            Verdict::NoFlush
        } else if seen.least_ratio < NEAR_THE_FLOOR {
            Verdict::Busy
        } else if seen.drain_gain >= WORTH_IT {
            Verdict::Relaxed
        } else {
            Verdict::Full
        }
    }

    /// Its word in JSON.
    pub fn key(self) -> &'static str {
        match self {
            Verdict::InMemory => "in_memory",
            Verdict::NoFlush => "no_flush",
            Verdict::Busy => "busy",
            Verdict::Relaxed => "relaxed",
            Verdict::Full => "full",
        }
    }
}

/// What to do.
pub fn sentence(seen: &Seen) -> String {
    let Seen { flushes, least_ratio, enqueue_gain, drain_gain, .. } = *seen;
    match Verdict::of(seen) {
        Verdict::InMemory => {
            "This directory is in memory: nothing in it outlives a power cut at any durability, so \
             keep the file elsewhere, and measure there with --dir."
                .to_owned()
        }
        Verdict::NoFlush => format!(
            "{flushes:.0} flushes a second seem not to reach the device (a cache without a battery, \
             a virtual disk that does not pass them on): FULL promises here only what such a disk \
             keeps in a power cut, so find out before you rely on it."
        ),
        Verdict::Busy => format!(
            "The engine came to only {least_ratio:.2} of its floor, most likely because other \
             programs use this machine: measure again when it is idle, or with more --seconds."
        ),
        Verdict::Relaxed => format!(
            "Flushes are dear here: relaxed drains {drain_gain:.1} times as fast and accepts single \
             jobs {enqueue_gain:.1} times as fast, which pays if the last commits before a power \
             cut can be had again; if not, stay at FULL."
        ),
        Verdict::Full => format!(
            "Stay at FULL: relaxed would drain {drain_gain:.1} times as fast and accept single jobs \
             {enqueue_gain:.1} times as fast, and a power cut could take back the last commits."
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USUAL: Seen = Seen {
        in_memory: false,
        flushes: 3_100.0,
        least_ratio: 0.8,
        enqueue_gain: 5.1,
        drain_gain: 1.3,
    };

    #[test]
    fn a_usual_disk_keeps_full() {
        assert_eq!(Verdict::of(&USUAL), Verdict::Full);
        assert!(sentence(&USUAL).starts_with("Stay at FULL: relaxed would drain 1.3 times"));
    }

    #[test]
    fn a_disk_that_flushes_too_fast_is_not_believed() {
        let lying = Seen { flushes: 20_001.0, ..USUAL };
        assert_eq!(Verdict::of(&lying), Verdict::NoFlush);
        assert!(sentence(&lying).starts_with("20001 flushes a second seem not to reach"));
        assert_eq!(Verdict::of(&Seen { flushes: 20_000.0, ..USUAL }), Verdict::Full);
        let memory = Seen { in_memory: true, flushes: 900_000.0, ..USUAL };
        assert_eq!(Verdict::of(&memory), Verdict::InMemory, "the cause, not its sign");
        assert_eq!(Verdict::of(&Seen { flushes: 1.0, ..memory }), Verdict::InMemory);
    }

    #[test]
    fn relaxed_is_told_where_it_buys_something() {
        let dear = Seen { flushes: 90.0, drain_gain: 2.0, ..USUAL };
        assert_eq!(Verdict::of(&dear), Verdict::Relaxed);
        assert!(sentence(&dear).contains("if not, stay at FULL"), "{}", sentence(&dear));
        assert_eq!(Verdict::of(&Seen { drain_gain: 1.99, ..dear }), Verdict::Full);
        let singles = Seen { enqueue_gain: 50.0, ..USUAL };
        assert_eq!(Verdict::of(&singles), Verdict::Full, "callers can be many, or call in bulk");
    }

    #[test]
    fn an_engine_far_off_its_floor_says_that_the_machine_is_busy() {
        let busy = Seen { least_ratio: 0.49, drain_gain: 9.0, ..USUAL };
        assert_eq!(Verdict::of(&busy), Verdict::Busy);
        assert_eq!(Verdict::of(&Seen { least_ratio: 0.5, ..busy }), Verdict::Relaxed);
        let lying = Seen { flushes: 50_000.0, ..busy };
        assert_eq!(Verdict::of(&lying), Verdict::NoFlush, "what loses work comes first");
    }

    #[test]
    fn the_advice_is_one_sentence_whatever_the_figures() {
        let odd = [0.0, -1.0, 0.3, 1e9, f64::NAN, f64::INFINITY];
        for flushes in odd {
            for least_ratio in odd {
                for drain_gain in odd {
                    for in_memory in [false, true] {
                        let seen = Seen { in_memory, flushes, least_ratio, drain_gain, ..USUAL };
                        let said = sentence(&seen);
                        assert!(said.ends_with('.') && !said.contains(". "), "{said}");
                        assert!(!Verdict::of(&seen).key().is_empty());
                    }
                }
            }
        }
    }
}
