//! Ids as people give them, and what is accepted where one is none.

use std::str::FromStr;

use lanebox::{EventId, JobId};

/// The id of a job.
pub fn job(text: &str) -> Result<JobId, String> {
    id("a job", "jobs", text)
}

/// The id of an event.
pub fn event(text: &str) -> Result<EventId, String> {
    id("an event", "events", text)
}

/// The number of a send.
pub fn send(text: &str) -> Result<String, String> {
    number("a send", "sends", text)
}

/// The number of a notice.
pub fn notice(text: &str) -> Result<String, String> {
    number("a notice", "notices", text)
}

fn id<T: FromStr>(what: &str, list: &str, text: &str) -> Result<T, String> {
    text.parse().map_err(|_| {
        format!(
            "{what} is named by its id, like 0198c1f2-7e5a-7000-8000-5d3c2b1a0f00, as `lanebox {list}` lists it; \
             nothing was changed"
        )
    })
}

fn number(what: &str, list: &str, text: &str) -> Result<String, String> {
    match text.parse::<i64>() {
        Ok(_) => Ok(text.to_owned()),
        Err(_) => Err(format!(
            "{what} is named by its number, like 12, as `lanebox {list}` lists it; nothing was changed"
        )),
    }
}
