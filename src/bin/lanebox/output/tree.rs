//! A trace as lines: what came of something stands two blanks deeper.

use lanebox::people::{
    AttemptView, AuditView, DeliveryTrace, EventTrace, JobTrace, NoticeView, SendTrace, Trace,
};

use super::Out;
use super::text::masked;
use super::words::{entity, job_state, lane, send_state, told, took};

/// The lines of a trace.
pub fn lines(trace: &Trace, out: Out) -> Vec<String> {
    let mut tree = Tree { out, lines: Vec::new() };
    trace.events.iter().for_each(|event| tree.event(event, 0));
    trace.jobs.iter().for_each(|job| tree.job(job, 0));
    if trace.cut {
        tree.push(0, "... there may be more: trace one of these".to_owned());
    }
    tree.lines
}

struct Tree {
    out: Out,
    lines: Vec<String>,
}

impl Tree {
    fn push(&mut self, depth: usize, line: String) {
        self.lines.push(format!("{}{line}", "  ".repeat(depth)));
    }

    fn event(&mut self, trace: &EventTrace, depth: usize) {
        let event = &trace.event;
        let id = event.id.map_or(format!("seq {}", event.seq), |id| id.to_string());
        let about = entity(event);
        let subject = event.subject.as_deref().map(masked).unwrap_or_default();
        let when = self.out.when(event.recorded_at);
        let parts = ["event", &event.name, &id, &about, &subject];
        self.push(depth, format!("{}  {}, {when}", joined(&parts), event.state));
        trace.deliveries.iter().for_each(|delivery| self.delivery(delivery, depth + 1));
        trace.jobs.iter().for_each(|job| self.job(job, depth + 1));
    }

    fn delivery(&mut self, delivery: &DeliveryTrace, depth: usize) {
        let mut line = format!("consumer {}  {}", delivery.consumer, delivered(delivery));
        if let Some(at) = delivery.at {
            line += &format!(", {}", self.out.when(at));
        }
        if let Some(reason) = &delivery.reason {
            line += &format!(": {reason}");
        }
        if let Some(at) = delivery.next_at {
            line += &format!("; due again {}", self.out.when(at));
        }
        self.push(depth, line);
        self.notice(delivery.notice.as_ref(), depth + 1);
        self.audit(&delivery.audit, depth + 1);
        delivery.jobs.iter().for_each(|job| self.job(job, depth + 1));
    }

    fn job(&mut self, trace: &JobTrace, depth: usize) {
        let job = &trace.job;
        let id = job.id.to_string();
        let lane = lane(job.lane.as_deref(), job.lane_no.as_deref());
        let lane = if lane.is_empty() { lane } else { format!("in lane {lane}") };
        self.push(
            depth,
            format!("{}  {}", joined(&["job", &job.kind, &id, &lane]), job_state(job)),
        );
        trace.history.iter().for_each(|attempt| self.attempt(attempt, depth + 1));
        trace.sends.iter().for_each(|send| self.send(send, depth + 1));
        self.notice(trace.notice.as_ref(), depth + 1);
        self.audit(&trace.audit, depth + 1);
        trace.published.iter().for_each(|event| self.event(event, depth + 1));
    }

    fn attempt(&mut self, attempt: &AttemptView, depth: usize) {
        let mut line = format!(
            "attempt {}  {}, token {}, process {}, {}",
            attempt.n,
            attempt.ended.replace('_', " "),
            attempt.token,
            attempt.process,
            self.out.when(attempt.started_at)
        );
        if let Some(at) = attempt.ended_at {
            line += &format!(", took {}", took(at.saturating_sub(attempt.started_at)));
        }
        if let Some(error) = &attempt.error {
            line += &format!(": {error}");
        }
        self.push(depth, line);
    }

    fn send(&mut self, trace: &SendTrace, depth: usize) {
        let send = &trace.send;
        let to = format!("{} to {}", send.channel, send.recipient);
        self.push(depth, format!("send {}  {}, {to}", send.id, send_state(send)));
        for one in &trace.history {
            let when = self.out.when(one.intended_at);
            let calls =
                if one.calls > 1 { format!(", {} calls", one.calls) } else { String::new() };
            let said = Some(told(one)).filter(|said| !said.is_empty());
            let said = said.map_or(String::new(), |said| format!(": {said}"));
            self.push(depth + 1, format!("try {}  {}{calls}, {when}{said}", one.n, one.state));
        }
        trace.notices.iter().for_each(|notice| self.notice(Some(notice), depth + 1));
        self.audit(&trace.audit, depth + 1);
    }

    fn audit(&mut self, audit: &[AuditView], depth: usize) {
        for AuditView { at, who, verb, about, about_id, detail, .. } in audit {
            // Jobs and sends stand right above; a notice may be of several.
            let about =
                if about == "notice" { format!(" {about} {about_id}") } else { String::new() };
            let detail = detail.as_ref().map_or(String::new(), |detail| format!(": {detail}"));
            let when = self.out.when(*at);
            self.push(depth, format!("person {who}  {verb}{about}, {when}{detail}"));
        }
    }

    fn notice(&mut self, notice: Option<&NoticeView>, depth: usize) {
        if let Some(notice) = notice {
            let counted =
                if notice.count > 1 { format!(" ({} times)", notice.count) } else { String::new() };
            let line =
                format!("notice {}  {}, {}{counted}", notice.id, notice.state, notice.reason);
            self.push(depth, line);
        }
    }
}

fn delivered(delivery: &DeliveryTrace) -> &str {
    match delivery.state.as_str() {
        "ahead" => "has not come to it yet",
        "retry" => "failed and is tried again",
        "job" | "routed" => "took it",
        other => other,
    }
}

fn joined(parts: &[&str]) -> String {
    let some: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    some.join(" ")
}
