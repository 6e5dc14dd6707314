//! At the end of a run every obstacle is taken away, and everything must come to its end: no lane
//! stays closed, no job is forgotten (R29, R30).

use super::choose::{Choice, LEASE_MS, Said};
use super::rig::Rig;
use crate::model::id::{KindNo, LaneNo};
use crate::model::verdict::End;
use crate::store::jobs::{Ask, Finish, Handled, Reap, Round};
use crate::store::sqlite::door::Step;

impl Rig {
    /// Lifts pauses and caps, decides every send, lets time pass, and works until nothing is left.
    pub(super) fn drain(&mut self) {
        self.between();
        self.open_up();
        self.pass(366 * 86_400_000, false);
        let unfinished = self.model.jobs.iter().filter(|job| !job.has_ended()).count();
        // Each pass ends at least one job; a send may become unknown once for each.
        for _ in 0..=3 * unfinished + 3 {
            if self.model.jobs.iter().all(|job| job.has_ended()) {
                return;
            }
            let mut choices = self.resume_lanes();
            choices.extend(self.decide_sends());
            let reap = self.pass_of(Round { reap: Some(Reap::Expired), ..Round::default() });
            let finish = self.pass_of(Round { finish: self.all_done(), ..Round::default() });
            let claim = self.pass_of(Round { claim: Some(self.ask_for_all()), ..Round::default() });
            choices.extend([reap, finish, claim]);
            self.run(choices);
            self.pass(1, false);
        }
        let left = self.model.jobs.iter().filter(|job| !job.has_ended());
        let left: Vec<String> = left.map(|job| format!("{job:?}")).collect();
        self.fail(&format!("these jobs never came to their end:\n{}", left.join("\n")));
    }

    fn open_up(&mut self) {
        let sql = "UPDATE lanebox_kind SET cap = NULL, paused = 0 WHERE id > 0; \
             UPDATE lanebox_org SET cap = NULL, paused = 0 WHERE id > 0; \
             UPDATE lanebox_counter SET cap = 256, paused = 0 WHERE one = 1;";
        for id in 1..=6 {
            (self.model.kind_mut(id).cap, self.model.kind_mut(id).paused) = (None, false);
        }
        for id in 1..=3 {
            (self.model.org_mut(id).cap, self.model.org_mut(id).paused) = (None, false);
        }
        (self.model.cap, self.model.paused) = (256, false);
        let opened = self.said(Step::Sql(sql.to_owned()), Said::Nothing);
        self.run(vec![opened]);
    }

    // Again and again: a run that is lost now may stop its lane by its death.
    fn resume_lanes(&mut self) -> Vec<Choice> {
        let paused: Vec<i64> = self.model.pauses.keys().copied().collect();
        let resume = |lane| {
            self.model.resume_lane(lane);
            self.said(Step::ResumeLane(LaneNo(lane)), Said::Nothing)
        };
        paused.into_iter().map(resume).collect()
    }

    fn decide_sends(&mut self) -> Vec<Choice> {
        let sends = 0..self.model.sends.len();
        let open: Vec<usize> = sends.filter(|at| self.model.sends[*at].is_open()).collect();
        open.into_iter().flat_map(|send| self.settle_send(send)).collect()
    }

    fn all_done(&self) -> Vec<Finish> {
        let ids: Vec<i64> = self.model.running().map(|(job, _)| job.id).collect();
        let held = ids.into_iter().filter_map(|id| self.model.held(id));
        held.map(|held| Finish { held, end: End::Done { result: None }, outbox: Vec::new() })
            .collect()
    }

    fn ask_for_all(&self) -> Ask {
        Ask {
            process: self.processes[0],
            kinds: (1..=6).map(|kind| Handled { kind: KindNo(kind), short: false }).collect(),
            idle: 50,
            ahead: 0,
            lease_ms: LEASE_MS,
            suspect_wait_ms: 30_000,
        }
    }
}
