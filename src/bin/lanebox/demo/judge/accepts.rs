//! What went out: twice, or without anybody having asked for it.

use std::collections::HashMap;

use super::super::provider::recipient;
use super::fault::{Fault, Faults, Figure};
use super::index::{Index, Traced, Writer};

/// The bubbles that the provider accepted, each with how often.
pub type Delivered<'e> = HashMap<(&'e str, u32), u64>;

/// Judges every accept by itself and against those of the same bubble.
pub fn judge<'e>(index: &Index<'e>, faults: &mut Faults) -> Delivered<'e> {
    let mut delivered = Delivered::new();
    for record in &index.evidence.accepts {
        let traced = match index.trace(record) {
            Ok(traced) => traced,
            Err(why) => {
                let why = format!("the provider's {}: {why}", record.wamid);
                faults.add(Fault::new(Figure::Unexpected, why));
                continue;
            }
        };
        let times = delivered.entry((&traced.asked.message, traced.bubble)).or_default();
        *times += 1;
        if *times > 1 {
            let why = format!("the provider's {} is accept number {times} of it", record.wamid);
            faults.add(about(&traced, Figure::Duplicated, why));
        }
        let objections = objections(index, &traced);
        if !objections.is_empty() {
            let why = format!("the provider's {}: {}", record.wamid, objections.join("; "));
            faults.add(about(&traced, Figure::Unexpected, why));
        }
    }
    delivered
}

fn about(traced: &Traced<'_>, figure: Figure, why: String) -> Fault {
    let fault = Fault::new(figure, why).message(&traced.asked.message);
    fault.bubble(traced.bubble).job(traced.turn.job)
}

fn objections(index: &Index<'_>, traced: &Traced<'_>) -> Vec<String> {
    let mut objections = Vec::new();
    match index.writer(traced.asked) {
        Writer::Nobody => objections.push("nobody wrote its message".to_owned()),
        Writer::Stop => objections.push("its message is a STOP, which gets no reply".to_owned()),
        Writer::Contact(contact) => {
            if recipient(&traced.record.to) != recipient(contact) {
                objections.push("it went to another contact than its message came from".to_owned());
            }
            objections.extend(after_stop(index, traced, contact));
        }
    }
    objections.extend(other_text(traced));
    objections
}

fn after_stop(index: &Index<'_>, traced: &Traced<'_>, contact: &str) -> Option<String> {
    let stopped_at = *index.evidence.fed.stopped_at.get(contact)?;
    let late_ms = traced.attempt.intended_at - stopped_at;
    (late_ms > 0).then(|| {
        format!("its intent came {late_ms} ms after the STOP of its contact was acknowledged")
    })
}

fn other_text(traced: &Traced<'_>) -> Option<String> {
    let Some(bubbles) = &traced.turn.bubbles else {
        return Some("no finished step recorded its text".to_owned());
    };
    let place = usize::try_from(traced.bubble).ok()?.checked_sub(1)?;
    match bubbles.get(place) {
        Some(text) if *text == traced.record.text => None,
        Some(_) => Some("its text is not the one that its step recorded".to_owned()),
        None => Some(format!("its step recorded {} bubbles only", bubbles.len())),
    }
}
