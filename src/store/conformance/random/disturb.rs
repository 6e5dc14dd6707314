//! What people and the outside world do to a file by chance: cancel, requeue, pause, change
//! settings, lose a process, begin and decide sends.

use super::choose::{Choice, Said};
use super::rig::Rig;
use crate::model::id::{JobNo, LaneNo, ProcessNo, SendNo};
use crate::store::conformance::reference::{Fate, OnDead};
use crate::store::sqlite::door::Step;

impl Rig {
    pub(super) fn cancel(&mut self) -> Choice {
        let Some(id) = self.some_job() else { return self.enqueue() };
        let said = Said::Cancelled(self.model.cancel(id));
        self.said(Step::Cancel(JobNo(id)), said)
    }

    pub(super) fn requeue(&mut self) -> Choice {
        let jobs = self.model.jobs.iter();
        let dead: Vec<i64> = jobs.filter(|job| job.is_dead()).map(|job| job.id).collect();
        let id = if self.random.u32(0..5) == 0 { None } else { self.random.choice(dead) };
        let Some(id) = id.or_else(|| self.some_job()) else { return self.enqueue() };
        let said = Said::Requeued(self.model.requeue(id));
        self.said(Step::Requeue(JobNo(id)), said)
    }

    pub(super) fn lane_pause(&mut self) -> Choice {
        let paused: Vec<i64> = self.model.pauses.keys().copied().collect();
        let resume = self.random.choice(paused).filter(|_| self.random.u32(0..3) > 0);
        if let Some(lane) = resume {
            self.model.resume_lane(lane);
            return self.said(Step::ResumeLane(LaneNo(lane)), Said::Nothing);
        }
        let lanes = i64::try_from(self.model.lanes.len()).expect("few");
        if lanes == 0 {
            return self.enqueue();
        }
        let lane = self.random.i64(1..=lanes);
        self.model.pause_lane(lane);
        self.said(Step::PauseLane(LaneNo(lane)), Said::Nothing)
    }

    // Raw rows: the verbs of settings belong to another area.
    pub(super) fn setting(&mut self) -> Choice {
        let flag = self.random.u32(0..3) == 0;
        let cap = [None, None, Some(0), Some(1), Some(2)][self.random.usize(0..5)];
        let cap_text = cap.map_or("NULL".to_owned(), |cap: i64| cap.to_string());
        let kind = self.random.i64(1..=6);
        let org = self.random.i64(1..=3);
        let sql = match self.random.u32(0..6) {
            0 => {
                self.model.kind_mut(kind).paused = flag;
                format!("UPDATE lanebox_kind SET paused = {flag} WHERE id = {kind}")
            }
            1 => {
                self.model.kind_mut(kind).cap = cap;
                format!("UPDATE lanebox_kind SET cap = {cap_text} WHERE id = {kind}")
            }
            2 => {
                self.model.org_mut(org).paused = flag;
                format!("UPDATE lanebox_org SET paused = {flag} WHERE id = {org}")
            }
            3 => {
                self.model.org_mut(org).cap = cap;
                format!("UPDATE lanebox_org SET cap = {cap_text} WHERE id = {org}")
            }
            4 => {
                self.model.paused = flag;
                format!("UPDATE lanebox_counter SET paused = {flag} WHERE one = 1")
            }
            _ => {
                self.model.cap = [2, 5, 256, 256][self.random.usize(0..4)];
                format!("UPDATE lanebox_counter SET cap = {} WHERE one = 1", self.model.cap)
            }
        };
        self.said(Step::Sql(sql), Said::Nothing)
    }

    pub(super) fn gone(&mut self) -> Choice {
        if self.processes.len() < 2 {
            return self.enqueue();
        }
        let at = self.random.usize(0..self.processes.len());
        let ProcessNo(no) = self.processes.swap_remove(at);
        self.model.processes[usize::try_from(no - 1).expect("from 1")].gone = true;
        self.said(Step::Gone(ProcessNo(no)), Said::Nothing)
    }

    pub(super) fn intend(&mut self) -> Option<Choice> {
        let running: Vec<i64> = self.model.running().map(|(job, _)| job.id).collect();
        let id = self.random.choice(running)?;
        let org = self.model.job(id).org;
        let token = self.model.held(id).expect("it runs").token;
        let send = self.model.intend(id) + 1;
        let seq = self.model.sends.iter().filter(|send| send.job == id).count();
        let sql = format!(
            "INSERT INTO lanebox_send(id, org, origin, seq) VALUES ({send}, {org}, 'j{id}', {seq}); \
             INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at) \
             VALUES ({send}, 1, randomblob(16), {org}, zeroblob(32), '+49 ...', zeroblob(32), 'intended', {id}, {token}, 0); \
             UPDATE lanebox_running SET sent = 1 WHERE id = {id};"
        );
        Some(self.said(Step::Sql(sql), Said::Nothing))
    }

    pub(super) fn settle(&mut self) -> Vec<Choice> {
        let sends = self.model.sends.iter().enumerate();
        let open: Vec<usize> = sends.filter(|(_, send)| send.is_open()).map(|(at, _)| at).collect();
        match self.random.choice(open) {
            Some(send) => self.settle_send(send),
            None => Vec::new(),
        }
    }

    pub(super) fn settle_send(&mut self, send: usize) -> Vec<Choice> {
        let accepted = self.random.bool();
        self.model.settle(send, if accepted { Fate::Accepted } else { Fate::Settled });
        let no = i64::try_from(send).expect("few") + 1;
        let fate = if accepted {
            "state = 'accepted', receipt = 'r'"
        } else {
            "state = 'rejected', class = 'good'"
        };
        let sql = format!(
            "UPDATE lanebox_send_try SET {fate}, ended_at = 0, next_look = NULL, notice = NULL WHERE send = {no} AND n = 1; \
             UPDATE lanebox_notice SET state = 'resolved', resolved_at = 0, resolved_by = 'ada' WHERE kind = 'send.unknown' AND state <> 'resolved' \
             AND NOT EXISTS (SELECT 1 FROM lanebox_send_try t WHERE t.notice = lanebox_notice.id AND t.state = 'unknown');"
        );
        let fact = self.said(Step::Sql(sql), Said::Nothing);
        self.model.free(send);
        vec![fact, self.said(Step::Free(SendNo(no)), Said::Nothing)]
    }

    /// The policies of the kinds that the names promise.
    pub(super) fn policies(&mut self) -> Choice {
        self.model.kind_mut(2).yields = true;
        self.model.kind_mut(3).on_dead = OnDead::Stop;
        self.model.kind_mut(4).on_dead = OnDead::Cancel;
        self.model.kind_mut(5).max_postponed = 1;
        self.model.kind_mut(6).cap = Some(1);
        let sql = "UPDATE lanebox_kind SET yields = 1 WHERE id = 2; \
             UPDATE lanebox_kind SET on_dead = 'stop' WHERE id = 3; \
             UPDATE lanebox_kind SET on_dead = 'cancel' WHERE id = 4; \
             UPDATE lanebox_kind SET max_postponed = 1 WHERE id = 5; \
             UPDATE lanebox_kind SET cap = 1 WHERE id = 6;";
        self.said(Step::Sql(sql.to_owned()), Said::Nothing)
    }
}
