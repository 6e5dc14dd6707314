//! One log record per ended attempt, after its commit: what a host counts and measures. Its target
//! is `lanebox::attempt`; its fields are `kind`, `outcome`, `attempt`, `token` and `took_us`.

use crate::engine::Engine;
use crate::engine::desk::Report;
use crate::model::id::{Held, KindNo};
use crate::model::verdict::End;
use crate::store::jobs::Ended;

impl Engine {
    pub(crate) fn record_ends(&self, reports: &[Report], ended: &[Ended]) {
        for (report, ended) in reports.iter().zip(ended) {
            let Report { finish, kind, took_us } = report;
            self.record(&finish.held, *kind, outcome(&finish.end, ended), Some(*took_us));
        }
    }

    /// A run whose handler heard itself that its lease is lost: it has nothing to commit.
    pub(crate) fn record_dropped(&self, held: &Held, kind: KindNo, took_us: i64) {
        self.record(held, kind, "lease_lost", Some(took_us));
    }

    /// How long a run took whose holder vanished, nobody knows.
    pub(crate) fn record_lost(&self, held: &Held, kind: KindNo, ended: &Ended) {
        self.record(held, kind, outcome(&End::Lost { reboot: false }, ended), None);
    }

    fn record(&self, held: &Held, kind: KindNo, outcome: &str, took_us: Option<i64>) {
        if !tracing::enabled!(target: "lanebox::attempt", tracing::Level::DEBUG) {
            return;
        }
        let (token, attempt) = (held.token.0, held.attempts);
        // A job of another process's kind can be taken back here.
        let kind = self.names.get(&kind).map_or("?", String::as_str);
        tracing::debug!(target: "lanebox::attempt", kind, outcome, attempt, token, took_us);
    }
}

/// Every way in which an attempt can end has a word of its own.
fn outcome(end: &End, ended: &Ended) -> &'static str {
    match (ended, end) {
        (Ended::LeaseLost, _) => "lease_lost",
        (Ended::NotStored, _) => "not_stored",
        (Ended::Dead, End::Lost { .. }) => "reaped_dead",
        (Ended::Dead, _) => "dead",
        (_, End::Lost { .. }) => "reaped",
        (Ended::Done, End::Skip(_)) => "skipped",
        (Ended::Done, _) => "done",
        (Ended::Cancelled, End::Veto(_)) => "vetoed",
        (Ended::Cancelled, End::GivenUp(_)) => "given_up",
        (Ended::Cancelled, _) => "cancelled",
        (Ended::Holds, _) => "waits_for_send",
        (Ended::Waits { .. }, End::Postpone { .. }) => "postponed",
        (Ended::Waits { .. }, End::HandBack { .. }) => "handed_back",
        (Ended::Waits { .. }, End::Unknown) => "evidence_came",
        (Ended::Waits { .. }, _) => "retry",
    }
}
