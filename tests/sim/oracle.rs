//! What must be true after every step, and once everything has settled.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::Ordering;

use super::world::World;

/// Rules that the file's own audits do not have, because only a whole engine can break them. Each
/// answers the rows that do.
const RULES: [(&str, &str); 10] = [
    (
        "a token ends one run, once",
        "SELECT f.id FROM lanebox_finished f JOIN lanebox_attempt a ON a.job = f.id AND a.token = f.token",
    ),
    (
        "the last run of a job ends it",
        "SELECT f.id FROM lanebox_finished f WHERE f.token < (SELECT max(token) FROM lanebox_attempt WHERE job = f.id)",
    ),
    (
        "a run's token is the newest of its job",
        "SELECT r.id FROM lanebox_running r WHERE r.token <= (SELECT max(token) FROM lanebox_attempt WHERE job = r.id)",
    ),
    (
        "a lane has one occupant",
        "SELECT lane FROM (SELECT lane FROM lanebox_running UNION ALL SELECT lane FROM lanebox_tried) WHERE lane IS NOT NULL GROUP BY lane HAVING count(*) > 1",
    ),
    (
        "a job that tells has told once it is done, and not before",
        "SELECT j.id FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind AND k.name = 'tells' LEFT JOIN lanebox_finished f ON f.id = j.id \
         WHERE (SELECT count(*) FROM lanebox_event e WHERE e.cause_job = j.id) <> (f.state IS 'done')",
    ),
    (
        "a job that writes has written once it is done, and not before",
        "SELECT j.id FROM lanebox_job j JOIN lanebox_kind k ON k.id = j.kind AND k.name = 'rows' LEFT JOIN lanebox_finished f ON f.id = j.id \
         WHERE (SELECT count(*) FROM effect e WHERE e.job = j.id) <> (f.state IS 'done')",
    ),
    (
        "the run that wrote is the run that ended",
        "SELECT e.job FROM effect e JOIN lanebox_finished f ON f.id = e.job WHERE f.token <> e.token",
    ),
    (
        "a step is remembered as the run said that finished it",
        "SELECT job FROM lanebox_step WHERE CAST(result AS INTEGER) <> token",
    ),
    (
        "nothing of ours panics but what was planned",
        "SELECT job FROM lanebox_attempt WHERE error GLOB 'it panicked*' AND error <> 'it panicked: planned'",
    ),
    (
        "an open notice stands behind each dead job",
        "SELECT f.id FROM lanebox_finished f LEFT JOIN lanebox_notice n ON n.id = f.notice WHERE f.state = 'dead' AND n.state IS NOT 'open'",
    ),
];

/// What has not settled: each a query for rows that should not be left.
const UNSETTLED: [(&str, &str); 3] = [
    (
        "jobs",
        "SELECT id || ' ' || coalesce(phase, state) || ' ' || coalesce(error, '') FROM lanebox_job_state WHERE state IN ('pending', 'running')",
    ),
    ("events", "SELECT seq || ' ' || state FROM lanebox_event_state WHERE state = 'pending'"),
    (
        "sends",
        "SELECT send || ' ' || state FROM lanebox_send_try WHERE state IN ('intended', 'unknown') AND notice IS NULL",
    ),
];

impl World {
    /// What must be true now, if anything has changed since it was last looked at.
    pub(super) fn check(&self) {
        let version = self.rows::<i64>("PRAGMA data_version")[0];
        if self.checked.swap(version, Ordering::SeqCst) != version {
            self.check_all();
        }
    }

    pub(super) fn check_all(&self) {
        let findings = self.observer.audit();
        if !findings.is_empty() {
            return self.fail(format!("audit: {findings:?}"));
        }
        for (rule, sql) in RULES {
            let found: Vec<i64> = self.rows(sql);
            if !found.is_empty() {
                return self.fail(format!("not so: {rule}: {found:?}"));
            }
        }
        self.nothing_accepted_is_lost();
        self.nothing_went_out_twice();
    }

    // The newest answers after each step; the whole list at the end, by the same query.
    fn nothing_accepted_is_lost(&self) {
        let accepted = self.accepted.lock();
        let latest = if self.is_quiet() { usize::MAX } else { 8 };
        let events = accepted.events.iter().rev().filter_map(|(event, id)| {
            Some(("event", id.as_ref()?.0, event.payload_text().expect("it was accepted")))
        });
        let jobs = accepted.jobs.iter().rev().filter_map(|(job, id)| {
            Some(("job", id.as_ref()?.0, job.payload_text().expect("it was accepted")))
        });
        for (what, id, payload) in events.take(latest).chain(jobs.take(latest)) {
            let id = id.simple();
            let sql = format!(
                "SELECT count(*) FROM lanebox_{what} WHERE uuid = x'{id}' AND payload = '{payload}'"
            );
            if self.rows::<i64>(&sql) != [1] {
                self.fail(format!("lost: {what} {id} was accepted with {payload}"));
            }
        }
    }

    // One message per send, and one more for each order of a person.
    fn nothing_went_out_twice(&self) {
        let sql = "SELECT json_array(hex(t.key), t.send, s.orders, t.state, t.how) FROM lanebox_send_try t JOIN lanebox_send s ON s.id = t.send";
        let mut tries = HashMap::new();
        for row in self.rows::<String>(sql) {
            let (key, send, orders, state, how): (String, i64, usize, String, Option<String>) =
                serde_json::from_str(&row).expect("a row");
            tries.insert(key, (send, orders, state, how));
        }
        let mut out: HashMap<i64, usize> = HashMap::new();
        let mut known = HashSet::new();
        for message in self.outside.messages() {
            let key = message.key.0.simple().to_string().to_uppercase();
            let Some((send, orders, state, how)) = tries.get(&key) else {
                return self.fail(format!("a message that nobody intended: {message:?}"));
            };
            known.insert(key);
            let times = out.entry(*send).or_default();
            *times += 1;
            if *times > 1 + orders {
                self.fail(format!("send {send} went out {times} times, {orders} ordered"));
            }
            if state == "rejected" || how.as_deref() == Some("not_found") {
                self.fail(format!("{message:?} went out, but its try is {state} {how:?}"));
            }
        }
        for (key, (send, _, state, how)) in &tries {
            if state == "accepted" && !known.contains(key) {
                self.fail(format!("send {send} is accepted {how:?}, but nothing went out"));
            }
        }
    }

    /// What is left to be done, as a person would read it.
    pub(super) fn unsettled(&self) -> Vec<String> {
        let mut left = Vec::new();
        for (what, sql) in UNSETTLED {
            left.extend(self.rows::<String>(sql).into_iter().map(|row| format!("{what}: {row}")));
        }
        let accepted = self.accepted.lock();
        let events = accepted.events.iter().filter(|(_, id)| id.is_none()).count();
        let jobs = accepted.jobs.iter().filter(|(_, id)| id.is_none()).count();
        if events + jobs > 0 {
            left.push(format!("unanswered: {events} events, {jobs} jobs"));
        }
        left
    }

    /// Every state that the file came to, for the report.
    pub(super) fn see_states(&self) {
        let states = [
            "SELECT 'job ' || coalesce(reason, state) FROM lanebox_finished",
            "SELECT phase FROM lanebox_tried",
            "SELECT 'attempt ' || ended FROM lanebox_attempt",
            "SELECT 'delivery ' || state FROM lanebox_delivery",
            "SELECT 'try ' || coalesce(how, state) FROM lanebox_send_try",
            "SELECT 'try called again' FROM lanebox_send_try WHERE calls > 1",
            "SELECT 'try after ' || after FROM lanebox_send_try WHERE after IS NOT NULL",
            "SELECT 'notice ' || kind FROM lanebox_notice",
        ];
        for sql in states {
            self.rows::<String>(sql).iter().for_each(|state| self.see(state));
        }
    }

    /// The end of every job and delivery, for the hash of the run.
    pub(super) fn note_ends(&self) {
        let ends =
            "SELECT json_array(id, state, token, attempts, lost) FROM lanebox_finished ORDER BY id";
        self.rows::<String>(ends).iter().for_each(|end| self.note(end));
        let deliveries = "SELECT json_array(consumer, event, state, attempts) FROM lanebox_delivery ORDER BY consumer, event";
        self.rows::<String>(deliveries).iter().for_each(|delivery| self.note(delivery));
    }

    pub(super) fn rows<T: rusqlite::types::FromSql>(&self, sql: &str) -> Vec<T> {
        let raw = self.raw.lock();
        let mut statement = raw.prepare_cached(sql).unwrap_or_else(|e| panic!("{sql}: {e}"));
        let rows = statement.query_map([], |row| row.get(0)).expect("it runs");
        rows.collect::<rusqlite::Result<_>>().expect("values of that type")
    }
}
