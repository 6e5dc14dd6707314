//! What the end of a run makes of its job: one total function of plain values, called by the live
//! path, the reaper and the simulation alike.

#[cfg(test)]
mod tests;

use crate::model::id::SendNo;

/// Unknown answers that a job may collect in one series before it is dead.
pub(crate) const MAX_UNKNOWNS: u32 = 5;

/// A postponement of at most this long keeps the lane unless told otherwise.
pub(crate) const SHORT_POSTPONE_MS: i64 = 60_000;

/// How a run ended, as the handler, the stopping engine or the reaper reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The work is done.
    Done { result: Option<String> },
    /// There was nothing to do.
    Skip(String),
    /// Not now: the attempt is given back. `counted` when the handler itself said it, which is
    /// bounded.
    Postpone { until: i64, why: String, keep_lane: Option<bool>, counted: bool },
    /// A business decision against the work: no alarm.
    Veto(String),
    /// It failed; try again after `wait_ms`.
    Retry { error: String, wait_ms: i64 },
    /// It failed for good.
    Dead(String),
    /// A send answered Unknown: wait for its fate.
    Unknown,
    /// A person gave up on a send of it, and nobody ordered otherwise: no alarm.
    GivenUp(String),
    /// Handed back by a stopping engine or from the prefetch; `started` if its handler had begun.
    HandBack { started: bool },
    /// Its holder vanished; `reboot` if the whole machine did.
    Lost { reboot: bool },
}

/// What the running row and its kind say about the run that ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) attempts: u32,
    pub(crate) max_attempts: u32,
    pub(crate) lost: u32,
    pub(crate) lost_alone: u32,
    pub(crate) postponed: u32,
    pub(crate) unknowns: u32,
    pub(crate) alone: bool,
    pub(crate) kept_lane: bool,
    pub(crate) cancel_asked: bool,
    pub(crate) run_at: i64,
}

/// What the file says beside the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Around {
    pub(crate) now: i64,
    /// The kind gives its lane back between two tries.
    pub(crate) yields: bool,
    pub(crate) max_postponed: u32,
    /// An undecided send that the job must wait for.
    pub(crate) blocking: Option<SendNo>,
    /// It has an intended or accepted send: its lane must not go on without it.
    pub(crate) has_sent: bool,
}

/// Why a job was cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CancelReason {
    Vetoed,
    Operator,
    Expired,
    GivenUp,
}

impl CancelReason {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            CancelReason::Vetoed => "vetoed",
            CancelReason::Operator => "operator",
            CancelReason::Expired => "expired",
            CancelReason::GivenUp => "given_up",
        }
    }
}

/// The counters and the place of a job that waits to be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Again {
    pub(crate) due: i64,
    pub(crate) keep_lane: bool,
    pub(crate) attempts: u32,
    pub(crate) lost: u32,
    pub(crate) lost_alone: u32,
    pub(crate) postponed: u32,
    pub(crate) unknowns: u32,
}

/// What becomes of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done {
        result: Option<String>,
    },
    /// Done, without work.
    Skipped {
        why: String,
    },
    Cancelled {
        reason: CancelReason,
        error: Option<String>,
    },
    Dead {
        error: String,
    },
    /// Waits for its due time.
    Wait(Again),
    /// Waits for the fate of a send, without slot, lease or attempt.
    Hold {
        send: SendNo,
        again: Again,
    },
}

/// Decides. Cancel loses against Done, Skip and Veto (the work happened, or was decided) and wins
/// against everything else.
pub(crate) fn verdict(run: &Run, end: &End, around: &Around) -> Verdict {
    if let Some(ended) = ended_by_losses_or_unknowns(run, end, around) {
        return ended;
    }
    let stands = matches!(end, End::Done { .. } | End::Skip(_) | End::Veto(_));
    let may_cancel = !stands || around.blocking.is_some();
    if run.cancel_asked && may_cancel {
        let error = error_of(end);
        return Verdict::Cancelled { reason: CancelReason::Operator, error };
    }
    if let Some(send) = around.blocking {
        return Verdict::Hold { send, again: held(run, end, around) };
    }
    match end {
        End::Done { result } => Verdict::Done { result: result.clone() },
        End::Skip(why) => Verdict::Skipped { why: why.clone() },
        End::Veto(why) => {
            Verdict::Cancelled { reason: CancelReason::Vetoed, error: Some(why.clone()) }
        }
        End::GivenUp(why) => {
            Verdict::Cancelled { reason: CancelReason::GivenUp, error: Some(why.clone()) }
        }
        End::Dead(error) => Verdict::Dead { error: error.clone() },
        End::Retry { error, .. } if run.attempts >= run.max_attempts => {
            Verdict::Dead { error: error.clone() }
        }
        End::Postpone { why, counted: true, .. } if run.postponed >= around.max_postponed => {
            Verdict::Dead { error: format!("postponed {} times: {why}", run.postponed) }
        }
        _ => Verdict::Wait(again(run, end, around)),
    }
}

// A poison job ends, and so does an address that never answers: both beat a wait for evidence.
fn ended_by_losses_or_unknowns(run: &Run, end: &End, around: &Around) -> Option<Verdict> {
    let dead = |error: String| Some(Verdict::Dead { error });
    match end {
        End::Lost { .. } if run.cancel_asked => None,
        End::Lost { .. } if run.max_attempts == 1 => {
            dead("its holder vanished, and it must not be started twice".to_owned())
        }
        End::Lost { reboot: false } if run.alone && run.lost_alone >= 1 => {
            dead(format!("its process died {} times, twice with nothing beside it", run.lost + 1))
        }
        // A stopping process gave no answer: a deploy must not end a job.
        End::Lost { .. } | End::HandBack { .. } => None,
        _ if around.blocking.is_some() && !run.cancel_asked && run.unknowns >= MAX_UNKNOWNS => {
            dead("too many unknown answers".to_owned())
        }
        _ => None,
    }
}

fn error_of(end: &End) -> Option<String> {
    match end {
        End::Retry { error, .. } | End::Dead(error) => Some(error.clone()),
        End::Postpone { why, .. } | End::Skip(why) | End::Veto(why) | End::GivenUp(why) => {
            Some(why.clone())
        }
        End::Lost { .. } => Some("its holder vanished".to_owned()),
        End::Done { .. } | End::Unknown | End::HandBack { .. } => None,
    }
}

// Waiting for evidence gives the attempt back; a loss with an open intent stays a loss.
fn held(run: &Run, end: &End, around: &Around) -> Again {
    let lost = matches!(end, End::Lost { .. });
    let handed_back = matches!(end, End::HandBack { .. });
    let reset = !lost && !handed_back;
    Again {
        due: around.now,
        keep_lane: true,
        attempts: run.attempts - 1,
        lost: if reset { 0 } else { run.lost + u32::from(lost) },
        lost_alone: if reset { 0 } else { run.lost_alone + counts_alone(run, end) },
        postponed: run.postponed,
        unknowns: run.unknowns + u32::from(reset),
    }
}

fn again(run: &Run, end: &End, around: &Around) -> Again {
    let base = Again {
        due: around.now,
        keep_lane: true,
        attempts: run.attempts - 1,
        lost: 0,
        lost_alone: 0,
        postponed: run.postponed,
        unknowns: run.unknowns,
    };
    match end {
        End::Retry { wait_ms, .. } => Again {
            due: around.now.saturating_add(*wait_ms),
            keep_lane: !around.yields,
            attempts: run.attempts,
            ..base
        },
        End::Postpone { until, keep_lane, counted, .. } => {
            let short = until.saturating_sub(around.now) <= SHORT_POSTPONE_MS;
            Again {
                due: *until,
                keep_lane: keep_lane.unwrap_or(short || around.has_sent),
                postponed: run.postponed + u32::from(*counted),
                ..base
            }
        }
        End::HandBack { started } => Again {
            due: run.run_at,
            keep_lane: *started || run.kept_lane,
            lost: run.lost,
            lost_alone: run.lost_alone,
            ..base
        },
        End::Lost { .. } => Again {
            lost: run.lost + 1,
            lost_alone: run.lost_alone + counts_alone(run, end),
            ..base
        },
        // The evidence came before the run ended: go on at once.
        _ => base,
    }
}

fn counts_alone(run: &Run, end: &End) -> u32 {
    u32::from(run.alone && matches!(end, End::Lost { reboot: false }))
}
