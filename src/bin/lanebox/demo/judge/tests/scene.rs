//! A demo that never ran: its three files, written by hand.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, params};
use serde::Serialize;
use serde_json::json;
use tempfile::TempDir;
use uuid::Uuid;

use super::super::super::log::{
    Answer, BlowRecord, FedMessage, FeederRecord, ProviderRecord, Taken,
};
use super::super::super::provider::Mode;
use super::super::JudgeArgs;
use super::super::evidence::Evidence;
use super::super::report::Report;

const SCHEMA: &str = include_str!("../../../../../../schema/sqlite/current.sql");
const META: &str = "INSERT INTO lanebox_meta \
    (id, schema_version, min_reader, min_writer, file_uuid, secret, created_by, created_at) \
    VALUES (1, 1, 1, 1, zeroblob(16), zeroblob(32), 'test', 0);
    INSERT INTO lanebox_kind(id, name) VALUES (1, 'inbound_turn'), (2, 'sentiment');
    INSERT INTO lanebox_channel(id, org, name, timeout_ms, patience_ms) \
    VALUES (1, 1, 'whatsapp', 1000, 2000);
    INSERT INTO lanebox_consumer(id, key, form, version, definition, generation, started, position)\
    VALUES (1, 'agent.dispatch', 'route', 1, '', 1, 0, 0), \
           (2, 'sentiment', 'consume', 1, '', 1, 0, 0);";

/// Each step takes ten milliseconds.
pub struct Scene {
    pub dir: TempDir,
    pub db: Connection,
    pub fed: Vec<FeederRecord>,
    pub taken: Vec<ProviderRecord>,
    pub blows: Vec<BlowRecord>,
    pub now: i64,
    ids: u128,
}

impl Scene {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let db = Connection::open(dir.path().join("demo.db")).unwrap();
        db.pragma_update(None, "journal_mode", "WAL").unwrap();
        db.execute_batch(SCHEMA).unwrap();
        db.execute_batch(META).unwrap();
        let (fed, taken, blows) = (Vec::new(), Vec::new(), Vec::new());
        Self { dir, db, fed, taken, blows, now: 1_767_225_600_000, ids: 0 }
    }

    pub fn tick(&mut self) -> i64 {
        self.now += 10;
        self.now
    }

    fn id(&mut self) -> Uuid {
        self.ids += 1;
        Uuid::from_u128(self.ids)
    }

    pub fn sql(&self, sql: &str, values: impl rusqlite::Params) -> i64 {
        self.db.execute(sql, values).unwrap();
        self.db.last_insert_rowid()
    }

    // ---- the outside world

    pub fn feed(&mut self, what: Answer, message: &str, contact: &str, stop: bool) {
        let at_ms = self.tick();
        let message = FedMessage { wamid: message.to_owned(), from: contact.to_owned(), stop };
        let http = if what == Answer::Acknowledged { 200 } else { 400 };
        let (line, messages) = (self.fed.len() + 1, vec![message]);
        self.fed.push(FeederRecord { at_ms, what, line, posts: 1, http, messages });
    }

    pub fn acknowledged(&mut self, message: &str, contact: &str) {
        self.feed(Answer::Acknowledged, message, contact, false);
    }

    pub fn stop_acknowledged(&mut self, message: &str, contact: &str) {
        self.feed(Answer::Acknowledged, message, contact, true);
    }

    pub fn takes(&mut self, key: Uuid, to: &str, text: &str) {
        self.takes_key(Some(key.to_string()), to, text);
    }

    pub fn takes_key(&mut self, key: Option<String>, to: &str, text: &str) {
        let at_ms = self.tick();
        self.taken.push(ProviderRecord {
            at_ms,
            what: Taken::Accepted,
            mode: Mode::Neither,
            key,
            to: to.to_owned(),
            text: text.to_owned(),
            wamid: format!("wamid.P{}", self.taken.len() + 1),
            client: None,
        });
    }

    // ---- the database

    pub fn event(&mut self, name: &str, message: &str) -> i64 {
        let (id, at) = (self.id(), self.tick());
        let seq = self.sql(
            "INSERT INTO lanebox_event(uuid, org, name, entity_type, entity_id, recorded_at) \
             VALUES (?1, '-', ?2, 'message', ?3, ?4)",
            params![id.as_bytes(), name, message, at],
        );
        self.sql("UPDATE lanebox_front SET seq = ?1", [seq]);
        seq
    }

    /// Received, acknowledged, and a job in the contact's lane.
    pub fn message(&mut self, message: &str, contact: &str) -> i64 {
        self.event("message.received", message);
        self.acknowledged(message, contact);
        self.turn(message, contact, true)
    }

    pub fn turn(&mut self, message: &str, contact: &str, in_lane: bool) -> i64 {
        let lane = in_lane.then(|| self.lane(contact));
        let payload = json!({"contact": contact, "message": message, "text": "?"});
        self.job(1, lane, Some(contact), &payload.to_string())
    }

    pub fn lane(&self, name: &str) -> i64 {
        let sql = "INSERT INTO lanebox_lane(org, name) VALUES (1, ?1) \
                   ON CONFLICT(org, name) DO NOTHING";
        self.sql(sql, [name]);
        let sql = "SELECT id FROM lanebox_lane WHERE name = ?1";
        self.db.query_row(sql, [name], |row| row.get(0)).unwrap()
    }

    pub fn job(
        &mut self,
        kind: i64,
        lane: Option<i64>,
        subject: Option<&str>,
        payload: &str,
    ) -> i64 {
        let at = self.tick();
        let id = self.id();
        self.sql(
            "INSERT INTO lanebox_job(uuid, org, kind, lane, subject, priority, run_at, \
             max_attempts, created_at, payload) VALUES (?1, 1, ?2, ?3, ?4, 500, ?5, 10, ?5, ?6)",
            params![id.as_bytes(), kind, lane, subject, at, payload],
        )
    }

    pub fn claims(&mut self, job: i64, token: i64) {
        let at = self.tick();
        self.sql(
            "INSERT INTO lanebox_running(id, org, kind, lane, run_at, token, process, \
             lease_until, started_at, max_attempts) \
             SELECT id, org, kind, lane, run_at, ?2, 1, 0, ?3, 10 FROM lanebox_job WHERE id = ?1",
            params![job, token, at],
        );
    }

    fn leaves(&self, job: i64) -> i64 {
        let sql = "SELECT started_at FROM lanebox_running WHERE id = ?1";
        let started_at = self.db.query_row(sql, [job], |row| row.get(0)).unwrap();
        self.sql("DELETE FROM lanebox_running WHERE id = ?1", [job]);
        started_at
    }

    /// The run ends, the job does not.
    pub fn run_ends(&mut self, job: i64, token: i64, ended: &str) {
        let (started_at, ended_at) = (self.leaves(job), self.tick());
        self.attempt(job, token, (started_at, ended_at), ended);
    }

    pub fn attempt(&self, job: i64, token: i64, (from, to): (i64, i64), ended: &str) {
        self.sql(
            "INSERT INTO lanebox_attempt(job, token, series, n, process, started_at, ended_at, \
             ended) VALUES (?1, ?2, 1, 1, 1, ?3, ?4, ?5)",
            params![job, token, from, to, ended],
        );
    }

    pub fn done(&mut self, job: i64, token: i64, message: &str) {
        self.event("message.sent", message);
        self.ends(job, token, "done", None);
    }

    /// The run ends the job.
    pub fn ends(&mut self, job: i64, token: i64, state: &str, reason: Option<&str>) {
        let (started_at, at) = (self.leaves(job), self.tick());
        self.finished(job, (Some(token), Some(started_at), at), state, reason);
    }

    pub fn finished(
        &self,
        job: i64,
        (token, started_at, at): (Option<i64>, Option<i64>, i64),
        state: &str,
        reason: Option<&str>,
    ) {
        let notice = (state == "dead").then(|| self.notice(&format!("dead {job}")));
        self.sql(
            "INSERT INTO lanebox_finished(id, state, reason, finished_at, started_at, token, \
             series, attempts, lost, error, notice) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, 1, 1, 0, 'why', ?7)",
            params![job, state, reason, at, started_at, token, notice],
        );
    }

    pub fn notice(&self, cause: &str) -> i64 {
        self.sql(
            "INSERT INTO lanebox_notice(org, kind, cause, severity, reason, next_step, first_at, \
             last_at) VALUES (1, 'test', ?1, 'warn', 'r', 'n', 0, 0)",
            [cause],
        )
    }

    pub fn resolve_all_notices(&self) {
        let sql = "UPDATE lanebox_notice SET state = 'resolved', resolved_at = 1, \
                   resolved_by = 'a person'";
        self.sql(sql, []);
    }

    pub fn thinks(&mut self, job: i64, token: i64, texts: &[&str]) {
        self.step(job, token, &json!(texts).to_string());
    }

    pub fn step(&mut self, job: i64, token: i64, result: &str) {
        let at = self.tick();
        self.sql(
            "INSERT INTO lanebox_step(job, name, result, finished_at, token) \
             VALUES (?1, 'think', ?2, ?3, ?4)",
            params![job, result, at, token],
        );
    }

    pub fn intends(&mut self, job: i64, token: i64, bubble: i64) -> Uuid {
        self.intends_as(&format!("j{job}"), job, token, bubble)
    }

    pub fn intends_as(&mut self, origin: &str, job: i64, token: i64, bubble: i64) -> Uuid {
        let sql = "SELECT id FROM lanebox_send WHERE origin = ?1 AND seq = ?2";
        let known = self.db.query_row(sql, params![origin, bubble], |row| row.get(0));
        let send: i64 = known.unwrap_or_else(|_| {
            let sql = "INSERT INTO lanebox_send(org, origin, seq) VALUES (1, ?1, ?2)";
            self.sql(sql, params![origin, bubble])
        });
        self.intends_send(send, job, token)
    }

    pub fn intends_send(&mut self, send: i64, job: i64, token: i64) -> Uuid {
        let at = self.tick();
        let key = self.id();
        self.sql(
            "INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, \
             hash, state, job, token, intended_at, after) \
             SELECT ?1, 1 + count(*), ?2, 1, zeroblob(32), '', zeroblob(32), 'intended', ?3, ?4, \
             ?5, CASE WHEN count(*) > 0 THEN 'rejected' END FROM lanebox_send_try WHERE send = ?1",
            params![send, key.as_bytes(), job, token, at],
        );
        key
    }

    /// The database learns that the try with this key was accepted.
    pub fn learns(&mut self, key: Uuid) {
        let at = self.tick();
        self.sql(
            "UPDATE lanebox_send_try SET state = 'accepted', receipt = 'r', ended_at = ?2, \
             next_look = NULL, notice = NULL WHERE key = ?1",
            params![key.as_bytes(), at],
        );
    }

    pub fn is_rejected(&mut self, key: Uuid) {
        let at = self.tick();
        self.sql(
            "UPDATE lanebox_send_try SET state = 'rejected', class = 'transient', ended_at = ?2 \
             WHERE key = ?1",
            params![key.as_bytes(), at],
        );
    }

    pub fn becomes_unknown(&mut self, key: Uuid, notice: Option<i64>) {
        let at = self.tick();
        self.sql(
            "UPDATE lanebox_send_try SET state = 'unknown', unknown_at = ?2, wait_until = ?2, \
             next_look = ?2, notice = ?3 WHERE key = ?1",
            params![key.as_bytes(), at, notice],
        );
    }

    /// The whole way of one message, without trouble.
    pub fn replied(&mut self, message: &str, contact: &str, texts: &[&str]) -> i64 {
        let job = self.message(message, contact);
        let token = self.now;
        self.claims(job, token);
        self.thinks(job, token, texts);
        for (n, text) in (1..).zip(texts) {
            let key = self.intends(job, token, n);
            self.takes(key, contact, text);
            self.learns(key);
        }
        self.done(job, token, message);
        job
    }

    // ---- the judgement

    pub fn args(&self) -> JudgeArgs {
        let file = |name: &str| -> PathBuf { self.dir.path().join(name) };
        JudgeArgs {
            provider_log: file("provider.jsonl"),
            feeder_log: file("feeder.jsonl"),
            db: file("demo.db"),
            kills_log: Some(file("kills.jsonl")),
            json: true,
        }
    }

    /// Writes the logs as they are now.
    pub fn write_logs(&self) -> JudgeArgs {
        let args = self.args();
        write(&args.feeder_log, &self.fed);
        write(&args.provider_log, &self.taken);
        write(args.kills_log.as_ref().unwrap(), &self.blows);
        args
    }

    pub fn judge(&self) -> Report {
        Report::of(&Evidence::read(&self.write_logs()).unwrap())
    }
}

fn write<R: Serialize>(path: &Path, records: &[R]) {
    let lines = records.iter().map(|record| serde_json::to_string(record).unwrap() + "\n");
    fs::write(path, lines.collect::<String>()).unwrap();
}
