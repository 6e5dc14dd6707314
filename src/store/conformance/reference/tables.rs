//! What the model says must be in each table of the job part: derived from the plain states by the
//! table in schema.md, section 1.

use rusqlite::types::Value;

use super::{Fate, Job, Model, OnDead, Place, Run};
use crate::store::conformance::tables::{Row, TABLES, Tables, sort};

impl Model {
    /// Every row that the file must hold, in the order of [`TABLES`].
    pub(in super::super) fn tables(&self) -> Tables {
        let names = TABLES.iter().map(|(name, _)| *name);
        names.map(|name| (name, self.rows(name))).collect()
    }

    fn rows(&self, table: &str) -> Vec<Row> {
        let mut rows: Vec<Row> = match table {
            "job" => self.jobs.iter().map(job_row).collect(),
            "scheduled" => self.scheduled(),
            "ready" => self.ready().into_iter().map(ready_row).collect(),
            "open" => self.lines(),
            "running" => self.running().map(|(job, run)| running_row(job, run)).collect(),
            "tried" => {
                self.jobs.iter().filter(|job| job.tried && job.waits()).map(tried_row).collect()
            }
            "finished" => self.jobs.iter().filter_map(finished_row).collect(),
            "attempt" => self.jobs.iter().flat_map(attempt_rows).collect(),
            "expiry" => self.expiries(),
            "result" => self.results(),
            "pause" => self.paused_lanes(),
            "counter" => {
                vec![vec![
                    self.token.into(),
                    self.served.into(),
                    self.cap.into(),
                    self.paused.into(),
                ]]
            }
            "org" => self.org_rows(),
            "kind" => self.kind_rows(),
            "lane" => self.lane_rows(),
            "process" => self.process_rows(),
            "job_key" => self
                .keys
                .iter()
                .map(|((org, _), (job, _, until))| ints(&[*org, *job, *until]))
                .collect(),
            "job_unique" => self.unique_rows(),
            "once" => self
                .onces
                .iter()
                .map(|((org, event, name), (job, _))| {
                    vec![(*org).into(), (*event).into(), name.clone().into(), (*job).into()]
                })
                .collect(),
            "notice" => self.notice_rows(),
            "send_try" => self.send_rows(),
            other => panic!("no such table: {other}"),
        };
        sort(&mut rows);
        rows
    }

    // Who holds its key, and the dead who may want theirs back.
    fn unique_rows(&self) -> Vec<Row> {
        let rows = self.jobs.iter().filter_map(|job| {
            let holds = self.uniques.get(job.unique.as_ref()?) == Some(&job.id);
            let kept = holds || job.is_dead();
            kept.then(|| ints(&[job.org, job.kind, job.id, i64::from(holds)]))
        });
        rows.collect()
    }

    fn scheduled(&self) -> Vec<Row> {
        let scheduled = self.jobs.iter().filter(|job| job.place == Place::Scheduled);
        scheduled.map(|job| vec![job.due.into(), job.id.into(), job.lane.into()]).collect()
    }

    fn lines(&self) -> Vec<Row> {
        let lanes = 1..=i64::try_from(self.lanes.len()).expect("few");
        let row = |lane: i64, job: &Job| ints(&[lane, job.priority, job.due, job.id, job.kind]);
        lanes.flat_map(|lane| self.line(lane).into_iter().map(move |job| row(lane, job))).collect()
    }

    fn expiries(&self) -> Vec<Row> {
        let may = self.jobs.iter().filter(|job| job.may_expire);
        may.map(|job| vec![job.expires_at.into(), job.id.into()]).collect()
    }

    fn results(&self) -> Vec<Row> {
        let with = |job: &Job| Some(vec![job.id.into(), job.result.clone()?.into()]);
        self.jobs.iter().filter_map(with).collect()
    }

    fn paused_lanes(&self) -> Vec<Row> {
        let row = |(lane, pause): (&i64, &super::Pause)| {
            vec![
                (*lane).into(),
                pause.by_operator.into(),
                pause.dead_job.into(),
                pause.cancel_upto.into(),
            ]
        };
        self.pauses.iter().map(row).collect()
    }

    fn org_rows(&self) -> Vec<Row> {
        let row = |(org, id): (&super::Org, i64)| {
            vec![id.into(), org.name.clone().into(), org.cap.into(), org.paused.into()]
        };
        self.orgs.iter().zip(1..).map(row).collect()
    }

    fn kind_rows(&self) -> Vec<Row> {
        let row = |(kind, id): (&super::Kind, i64)| {
            let on_dead = match kind.on_dead {
                OnDead::Go => "go",
                OnDead::Stop => "stop",
                OnDead::Cancel => "cancel",
            };
            vec![
                id.into(),
                kind.name.clone().into(),
                kind.cap.into(),
                kind.paused.into(),
                kind.yields.into(),
                on_dead.to_owned().into(),
                kind.max_postponed.into(),
                kind.owed.into(),
            ]
        };
        self.kinds.iter().zip(1..).map(row).collect()
    }

    fn lane_rows(&self) -> Vec<Row> {
        let row = |((org, name), id): (&(i64, String), i64)| {
            vec![id.into(), (*org).into(), name.clone().into()]
        };
        self.lanes.iter().zip(1..).map(row).collect()
    }

    fn process_rows(&self) -> Vec<Row> {
        let row = |(process, id): (&super::Process, i64)| {
            vec![id.into(), process.boot.clone().into(), process.gone.into()]
        };
        self.processes.iter().zip(1..).map(row).collect()
    }

    fn notice_rows(&self) -> Vec<Row> {
        let row = |((org, kind, cause), count): (&(i64, &'static str, String), &i64)| {
            vec![(*org).into(), (*kind).to_owned().into(), cause.clone().into(), (*count).into()]
        };
        self.notices.iter().map(row).collect()
    }

    fn send_rows(&self) -> Vec<Row> {
        let row = |(send, id): (&super::Send, i64)| {
            let fate = match send.fate {
                Fate::Intended => "intended",
                Fate::Unknown => "unknown",
                Fate::Accepted => "accepted",
                Fate::Settled => "rejected",
            };
            let told = send.noticed && send.fate == Fate::Unknown;
            vec![id.into(), send.job.into(), send.token.into(), fate.to_owned().into(), told.into()]
        };
        self.sends.iter().zip(1..).map(row).collect()
    }
}

fn ints(values: &[i64]) -> Row {
    values.iter().copied().map(Value::from).collect()
}

fn job_row(job: &Job) -> Row {
    vec![
        job.id.into(),
        job.org.into(),
        job.kind.into(),
        job.lane.into(),
        job.priority.into(),
        job.run_at.into(),
        job.expires_at.into(),
        job.max_attempts.into(),
    ]
}

fn ready_row(job: &Job) -> Row {
    let alone = i64::from(job.is_suspect());
    ints(&[alone, job.kind, job.org, job.priority, job.due, job.id])
}

fn running_row(job: &Job, run: &Run) -> Row {
    vec![
        job.id.into(),
        job.org.into(),
        job.kind.into(),
        job.lane.into(),
        job.due.into(),
        run.token.into(),
        run.process.into(),
        run.lease_until.into(),
        run.started_at.into(),
        job.n.series.into(),
        job.n.attempts.into(),
        job.max_attempts.into(),
        job.n.lost.into(),
        job.n.lost_alone.into(),
        job.n.postponed.into(),
        job.n.unknowns.into(),
        job.is_suspect().into(),
        run.kept_lane.into(),
        run.cancel_asked.into(),
        job.sent.into(),
    ]
}

fn tried_row(job: &Job) -> Row {
    let phase = match (&job.place, job.waits_for) {
        (Place::Parked, _) => "parked",
        (_, Some(_)) => "unknown",
        (_, None) => "waiting",
    };
    let send = job.waits_for.map(|at| i64::try_from(at).expect("few") + 1);
    vec![
        job.id.into(),
        job.lane.filter(|_| job.keeps).into(),
        phase.to_owned().into(),
        job.due.into(),
        job.n.series.into(),
        job.n.attempts.into(),
        job.n.lost.into(),
        job.n.lost_alone.into(),
        job.n.postponed.into(),
        job.n.unknowns.into(),
        job.sent.into(),
        send.into(),
        job.error.clone().into(),
    ]
}

fn finished_row(job: &Job) -> Option<Row> {
    let Place::Ended(ending) = &job.place else { return None };
    let last = ending.last.as_ref();
    Some(vec![
        job.id.into(),
        ending.state.to_owned().into(),
        ending.reason.map(str::to_owned).into(),
        ending.at.into(),
        last.map(|run| run.started_at).into(),
        last.map(|run| run.token).into(),
        last.map(|run| run.process).into(),
        job.n.series.into(),
        job.n.attempts.into(),
        job.n.lost.into(),
        job.error.clone().into(),
    ])
}

fn attempt_rows(job: &Job) -> Vec<Row> {
    let row = |attempt: &super::Attempt| {
        vec![
            job.id.into(),
            attempt.run.token.into(),
            attempt.series.into(),
            attempt.n.into(),
            attempt.run.process.into(),
            attempt.run.started_at.into(),
            attempt.at.into(),
            attempt.ended.to_owned().into(),
            attempt.error.clone().into(),
        ]
    };
    job.history.iter().map(row).collect()
}
