//! Rows in words.

use super::text::masked;
use lanebox::people::{EventView, JobView, SendView, TryView};

/// What an event is about.
pub fn entity(event: &EventView) -> String {
    match (&event.entity_type, &event.entity_id) {
        (Some(kind), Some(id)) => format!("{kind}:{id}"),
        _ => String::new(),
    }
}

/// A lane as people may see it, with the number that tells it from others that look the same: what
/// `--lane` takes.
pub fn lane(name: Option<&str>, no: Option<&str>) -> String {
    let Some(no) = no else { return String::new() };
    format!("{}~{no}", name.map_or("(forgotten)".to_owned(), masked))
}

/// The state of a job, or the place of a pending one, in words.
pub fn job_state(job: &JobView) -> String {
    let word = job.place.as_deref().unwrap_or(&job.state).replace('_', " ");
    match &job.reason {
        Some(reason) => format!("{word}: {}", reason.replace('_', " ")),
        None => word,
    }
}

/// The state of a send; an order that is not fulfilled yet says who gave it.
pub fn send_state(send: &SendView) -> String {
    match &send.order_by {
        Some(who) => format!("{}, ordered by {who}", send.state),
        None => send.state.clone(),
    }
}

/// What is known of a try beside its state.
pub fn told(one: &TryView) -> String {
    let class = one.class.as_deref().map(|class| match class {
        "good" => "for good".to_owned(),
        other => other.replace('_', " "),
    });
    let parts = [
        one.receipt.clone(),
        class,
        one.reason.clone(),
        one.how.as_deref().map(|how| how.replace('_', " ")),
        one.settled_by.as_ref().map(|who| format!("settled by {who}")),
        one.ordered_by.as_ref().map(|who| format!("ordered by {who}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// How long something took.
pub fn took(ms: i64) -> String {
    match ms {
        ..10_000 => format!("{ms} ms"),
        10_000..600_000 => format!("{} s", ms / 1_000),
        _ => format!("{} min", ms / 60_000),
    }
}
