//! What an answer, or the lack of one, says about a call: one class for every HTTP status and every
//! phase of a call.

/// What is known about a message after its call.
///
/// ```
/// use lanebox::{CallPhase, Class, Refusal};
///
/// assert_eq!(Class::of_status(200), Class::Accepted);
/// assert_eq!(Class::of_status(429), Class::Rejected(Refusal::Transient));
/// assert_eq!(Class::of_status(504), Class::Unknown); // the provider may have it
/// assert_eq!(Class::of_phase(CallPhase::Connect), Class::NotCalled);
/// assert_eq!(Class::of_phase(CallPhase::Timeout), Class::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// The provider has it.
    Accepted,
    /// The provider said that it does not take it.
    Rejected(Refusal),
    /// Nothing reached the provider.
    NotCalled,
    /// It may have it or not. Never a reason to send again.
    Unknown,
}

/// Whether a refused message may be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Not now: a later try of the same message may be taken.
    Transient,
    /// Not this message: the job ends as dead.
    ForGood,
}

/// How far a call came when it failed without a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallPhase {
    /// The name was not resolved.
    Dns,
    /// No connection was made.
    Connect,
    /// The connection was not secured.
    Tls,
    /// Before the first byte of the request was written.
    BeforeRequest,
    /// While the request was written: some of it may have left.
    Request,
    /// The request was written, and the connection broke before a whole reply came.
    Reply,
    /// The time of the call was over, wherever it was.
    Timeout,
}

impl Class {
    /// The class of an HTTP status. A provider whose contract says otherwise is better read by its
    /// own channel.
    ///
    /// Unknown is everything that a gateway may answer while the provider works on: 408, 409 (a
    /// first call with this key under way), 500, 502, 504 and whatever is not an answer at all.
    /// 401, 402 and 407 concern the account, not the message: they are transient, so that mending
    /// the account mends the messages.
    pub fn of_status(status: u16) -> Class {
        match status {
            200..=299 => Class::Accepted,
            301 | 307 | 308 => Class::Rejected(Refusal::ForGood),
            408 | 409 | 499 => Class::Unknown,
            401 | 402 | 407 | 423 | 425 | 429 => Class::Rejected(Refusal::Transient),
            400..=498 => Class::Rejected(Refusal::ForGood),
            501 | 505 => Class::Rejected(Refusal::ForGood),
            503 => Class::Rejected(Refusal::Transient),
            _ => Class::Unknown,
        }
    }

    /// The class of a call that failed without a status.
    pub fn of_phase(phase: CallPhase) -> Class {
        match phase {
            CallPhase::Dns | CallPhase::Connect | CallPhase::Tls | CallPhase::BeforeRequest => {
                Class::NotCalled
            }
            CallPhase::Request | CallPhase::Reply | CallPhase::Timeout => Class::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // R58, R59: written out, so that a change of the rule is a change of this table.
    // fault: gateway-timeout-is-a-refusal
    #[test]
    fn r58_r59_every_status_from_100_to_599_has_exactly_the_class_of_this_table() {
        use Class::{Accepted, Rejected, Unknown};
        let (transient, for_good) = (Rejected(Refusal::Transient), Rejected(Refusal::ForGood));
        let table: &[(std::ops::RangeInclusive<u16>, Class)] = &[
            (100..=199, Unknown),
            (200..=299, Accepted),
            (300..=300, Unknown),
            (301..=301, for_good),
            (302..=306, Unknown),
            (307..=308, for_good),
            (309..=399, Unknown),
            (400..=400, for_good),
            (401..=402, transient),
            (403..=406, for_good),
            (407..=407, transient),
            (408..=409, Unknown),
            (410..=422, for_good),
            (423..=423, transient),
            (424..=424, for_good),
            (425..=425, transient),
            (426..=428, for_good),
            (429..=429, transient),
            (430..=498, for_good),
            (499..=500, Unknown),
            (501..=501, for_good),
            (502..=502, Unknown),
            (503..=503, transient),
            (504..=504, Unknown),
            (505..=505, for_good),
            (506..=599, Unknown),
        ];
        for status in 100..=599 {
            let classes: Vec<_> = table.iter().filter(|(of, _)| of.contains(&status)).collect();
            assert_eq!(classes.len(), 1, "{status} is in the table once");
            assert_eq!(Class::of_status(status), classes[0].1, "{status}");
        }
    }

    #[test]
    fn r59_what_is_not_a_status_says_nothing() {
        for odd in [0, 1, 99, 600, 999, u16::MAX] {
            assert_eq!(Class::of_status(odd), Class::Unknown, "{odd}");
        }
    }

    // fault: broken-reply-is-no-call
    #[test]
    fn r58_a_call_is_repeated_safely_only_if_nothing_left() {
        use CallPhase::{BeforeRequest, Connect, Dns, Reply, Request, Timeout, Tls};
        for phase in [Dns, Connect, Tls, BeforeRequest] {
            assert_eq!(Class::of_phase(phase), Class::NotCalled, "{phase:?}");
        }
        for phase in [Request, Reply, Timeout] {
            assert_eq!(Class::of_phase(phase), Class::Unknown, "{phase:?}");
        }
    }
}
