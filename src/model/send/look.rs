//! What the resolver does about an unknown try after a look at it.

use super::ability::is_remembered;

/// Calls with one key that the resolver may cause: with the first they are as many unknown answers
/// as a job may collect.
pub(crate) const MOST_CALLS: i64 = 5;

/// After the patience a lookup goes on this long, this far apart.
const LATE_LOOKS_MS: i64 = 86_400_000;
const LATE_STEP_MS: i64 = 600_000;

/// What is known of an unknown try, and what the look found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Looked {
    pub(crate) now: i64,
    pub(crate) mono: i64,
    /// When the outside was asked, not when it answered.
    pub(crate) asked_at: i64,
    pub(crate) asked_mono: i64,
    pub(crate) not_found: bool,
    pub(crate) intended_at: i64,
    /// The same by the monotonic clock, if it was in this boot.
    pub(crate) intended_mono: Option<i64>,
    pub(crate) unknown_at: i64,
    /// The same by the monotonic clock; of an earlier boot nothing, since all of this one has
    /// passed since then.
    pub(crate) unknown_mono: Option<i64>,
    pub(crate) wait_until: i64,
    pub(crate) calls: i64,
    pub(crate) timeout_ms: i64,
    pub(crate) patience_ms: i64,
    pub(crate) settle_ms: Option<i64>,
    pub(crate) dedupe_ms: Option<i64>,
    /// No gate stands against a call, and the send has no accept (or an order is pending).
    pub(crate) may_call: bool,
}

/// The next step of the resolver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It did not go out: a new try may be born.
    NotFound,
    /// The job may call again with the same key; if it does not, look again then.
    Permit { next_look: i64 },
    /// Nothing learned yet.
    LookAgain { next_look: i64 },
    /// The patience is over: a person is told, the lane goes on.
    Tell { next_look: Option<i64> },
}

/// Decides.
pub(crate) fn step(look: &Looked) -> Step {
    if look.not_found && look.proves_absence() {
        return Step::NotFound;
    }
    if look.now >= look.wait_until {
        let goes_on = look.settle_ms.is_some() && look.now < look.wait_until + LATE_LOOKS_MS;
        return Step::Tell { next_look: goes_on.then_some(look.now + LATE_STEP_MS) };
    }
    if look.may_call && look.can_resend() {
        let at = look.resend_at();
        return if look.now >= at {
            // The run may find the gate closed in between: then it is permitted again.
            let next_look = (look.now + (look.patience_ms >> 3).max(1)).min(look.wait_until);
            Step::Permit { next_look }
        } else {
            Step::LookAgain { next_look: at.min(look.wait_until) }
        };
    }
    Step::LookAgain { next_look: look.later() }
}

impl Looked {
    // A "not found" counts once a message of the last call would be visible, by the wall clock and
    // by that of the leases: either may have stepped or be of another boot. Where the provider
    // dedupes it leads to the same key again while it is remembered: a new key would let a frozen
    // holder of the old one send a second message.
    fn proves_absence(&self) -> bool {
        let settled = self.settle_ms.is_some_and(|settle| {
            self.asked_at >= self.unknown_at + settle
                && self.asked_mono >= self.unknown_mono.unwrap_or(0) + settle
        });
        let remembered = self.dedupe_ms.is_some_and(|memory| {
            self.now < self.intended_at + memory
                || self.intended_mono.is_some_and(|at| self.mono < at + memory)
        });
        settled && !remembered
    }

    fn can_resend(&self) -> bool {
        let ends = (self.now + self.timeout_ms, self.mono + self.timeout_ms);
        let intended = (self.intended_at, self.intended_mono);
        self.calls < MOST_CALLS
            && self.dedupe_ms.is_some_and(|memory| is_remembered(memory, intended, ends))
    }

    // The calls are spread over the patience, each wait twice the last, so that an outage shorter
    // than the patience is outlived by them: with five calls 1/32, 1/16, 1/8 and 1/4 of it.
    fn resend_at(&self) -> i64 {
        self.unknown_at + (self.patience_ms >> (MOST_CALLS + 1 - self.calls).max(1))
    }

    // Ever further apart, never past the end of the patience.
    fn later(&self) -> i64 {
        let passed = self.now.saturating_sub(self.unknown_at).max(0);
        let wait = (passed / 2).max(self.patience_ms >> 6).max(self.settle_ms.unwrap_or(0)).max(1);
        (self.now + wait).min(self.wait_until)
    }
}

#[cfg(test)]
mod tests {
    use super::{Looked, Step, step};

    /// Called at 0, unknown since 1,000, patience 64,000; no lookup, no dedupe.
    const LOOK: Looked = Looked {
        now: 2_000,
        mono: 1_000_000,
        asked_at: 2_000,
        asked_mono: 1_000_000,
        not_found: false,
        intended_at: 0,
        intended_mono: None,
        unknown_at: 1_000,
        unknown_mono: None,
        wait_until: 65_000,
        calls: 1,
        timeout_ms: 1_000,
        patience_ms: 64_000,
        settle_ms: None,
        dedupe_ms: None,
        may_call: true,
    };

    #[test]
    fn not_found_counts_from_the_end_of_the_last_call_by_when_it_was_asked() {
        let lookup = Looked { not_found: true, settle_ms: Some(5_000), ..LOOK };
        let settled = Looked { now: 9_000, asked_at: 6_000, ..lookup };
        assert_eq!(step(&settled), Step::NotFound);
        let asked_too_early = Looked { asked_at: 5_999, ..settled };
        assert!(matches!(step(&asked_too_early), Step::LookAgain { .. }));
        for (unknown_mono, settles_at) in [(Some(996_000), 1_001_000), (None, 5_000)] {
            let late = Looked { unknown_mono, asked_mono: settles_at, ..settled };
            assert_eq!(step(&late), Step::NotFound);
            let stepped = Looked { asked_mono: settles_at - 1, ..late };
            assert!(matches!(step(&stepped), Step::LookAgain { .. }));
        }
        let called_again = Looked { unknown_at: 4_000, ..settled };
        assert!(matches!(step(&called_again), Step::LookAgain { .. }));
    }

    #[test]
    fn without_a_settle_time_not_found_says_nothing() {
        let look = Looked { not_found: true, asked_at: 60_000, now: 60_000, ..LOOK };
        assert!(matches!(step(&look), Step::LookAgain { .. }));
    }

    #[test]
    fn where_the_provider_dedupes_not_found_leads_to_the_same_key() {
        let both = Looked {
            now: 20_000,
            asked_at: 20_000,
            not_found: true,
            settle_ms: Some(5_000),
            dedupe_ms: Some(90_000),
            ..LOOK
        };
        assert!(matches!(step(&both), Step::Permit { .. }));
        // Its memory is over: then a new key is right.
        let forgotten = Looked { now: 90_000, asked_at: 90_000, ..both };
        assert_eq!(step(&forgotten), Step::NotFound);
    }

    #[test]
    fn the_calls_are_spread_over_the_patience() {
        let dedupes = Looked { dedupe_ms: Some(1_000_000), ..LOOK };
        for (calls, wait) in [(1, 2_000), (2, 4_000), (3, 8_000), (4, 16_000)] {
            let at = dedupes.unknown_at + wait;
            let early = Looked { calls, now: at - 1, ..dedupes };
            assert_eq!(step(&early), Step::LookAgain { next_look: at }, "call {calls}");
            let due = Looked { calls, now: at, ..dedupes };
            assert_eq!(step(&due), Step::Permit { next_look: at + 8_000 }, "call {calls}");
        }
        let fifth = Looked { calls: 5, now: 60_000, ..dedupes };
        assert!(matches!(step(&fifth), Step::LookAgain { .. }), "no sixth call by itself");
    }

    #[test]
    fn no_permission_past_a_gate_past_the_memory_or_past_the_patience() {
        let due = Looked { now: 30_000, dedupe_ms: Some(1_000_000), ..LOOK };
        assert!(matches!(step(&due), Step::Permit { .. }));
        let closed = Looked { may_call: false, ..due };
        assert!(matches!(step(&closed), Step::LookAgain { .. }));
        let too_late = Looked { dedupe_ms: Some(30_999), ..due };
        assert!(matches!(step(&too_late), Step::LookAgain { .. }));
        let over = Looked { now: 65_000, ..due };
        assert_eq!(step(&over), Step::Tell { next_look: None });
    }

    // fault: memory-by-the-wall
    #[test]
    fn a_wall_clock_that_steps_makes_no_provider_remember_longer_or_forget_earlier() {
        let both = Looked { settle_ms: Some(5_000), dedupe_ms: Some(60_000), ..LOOK };
        let back = Looked { now: 30_000, intended_mono: Some(941_000), ..both };
        assert!(matches!(step(&back), Step::Permit { .. }));
        let back = Looked { intended_mono: Some(940_999), ..back };
        assert!(matches!(step(&back), Step::LookAgain { .. }));
        let forth = Looked { not_found: true, now: 61_000, asked_at: 61_000, ..both };
        assert_eq!(step(&forth), Step::NotFound);
        let forth = Looked { intended_mono: Some(940_001), ..forth };
        assert!(matches!(step(&forth), Step::LookAgain { .. }));
    }

    #[test]
    fn after_the_patience_a_lookup_goes_on_for_a_day() {
        let over = Looked { now: 65_000, settle_ms: Some(5_000), ..LOOK };
        assert_eq!(step(&over), Step::Tell { next_look: Some(665_000) });
        let a_day_later = Looked { now: 65_000 + 86_400_000, ..over };
        assert_eq!(step(&a_day_later), Step::Tell { next_look: None });
    }

    #[test]
    fn r59_whatever_happens_a_look_is_ahead_until_a_person_is_told() {
        let mut look = Looked { settle_ms: Some(500), ..LOOK };
        for looks in 0..1_000 {
            match step(&look) {
                Step::LookAgain { next_look } => {
                    assert!(next_look > look.now && next_look <= look.wait_until, "{look:?}");
                    look = Looked { now: next_look, asked_at: next_look, ..look };
                }
                Step::Tell { .. } => {
                    assert_eq!(look.now, look.wait_until);
                    assert!(looks < 30, "{looks} looks for nothing");
                    return;
                }
                step => panic!("{step:?} for {look:?}"),
            }
        }
        panic!("nobody was ever told");
    }
}
