//! What people type: times, ids, lanes and filters, as the command line reads them. Nothing
//! panics; what is understood means the same when it is said again; a list answers or says what is
//! wrong with the question.

#![no_main]

#[path = "../../../src/bin/lanebox/args/id.rs"]
mod id;
#[path = "../../../src/bin/lanebox/args/lane.rs"]
mod lane;
#[path = "../../../src/bin/lanebox/args/when.rs"]
mod when;

use std::str::FromStr;

use lane::LaneArg;
use lanebox::people::{Filter, Page};
use lanebox::time::{Duration, OffsetDateTime};
use lanebox::{Error, Lanebox};
use lanebox_fuzz::{Bytes, FIXTURE, place, put};
use libfuzzer_sys::fuzz_target;
use when::{Later, Since};

struct Scene {
    lanebox: Lanebox,
    _dir: tempfile::TempDir,
}

thread_local! {
    static SCENE: Scene = scene();
}

/// The file of the first release, with a row in every state.
fn scene() -> Scene {
    let (dir, path) = place();
    put(&path, FIXTURE);
    Scene { lanebox: Lanebox::open(path).expect("the fixture opens"), _dir: dir }
}

fuzz_target!(|data: &[u8]| {
    let mut bytes = Bytes(data);
    let text = bytes.text();
    times(&text);
    ids(&text);
    SCENE.with(|scene| {
        lists(&scene.lanebox, &mut bytes, &text);
        if let Err(error) = scene.lanebox.trace(&text) {
            assert!(is_about_the_question(&error), "{text:?}: {error:?}");
        }
    });
});

fn times(text: &str) {
    let now = OffsetDateTime::UNIX_EPOCH + Duration::weeks(3_000);
    if let Ok(since) = Since::from_str(text) {
        let later = Later::from_str(text).expect("both read the same");
        let (before, after) = (since.from(now), later.from(now));
        // Either it is a length, and lies on both sides of now, or an instant, the same for both.
        assert!(before == after || (before <= now && after >= now), "{text:?}");
    }
}

fn ids(text: &str) {
    if let Ok(job) = id::job(text) {
        assert_eq!(id::job(&job.to_string()), Ok(job));
    }
    if let Ok(event) = id::event(text) {
        assert_eq!(id::event(&event.to_string()), Ok(event));
    }
    assert_eq!(id::send(text).is_ok(), id::notice(text).is_ok());
}

fn lists(lanebox: &Lanebox, bytes: &mut Bytes<'_>, text: &str) {
    let filter = filter(bytes, text);
    answers(lanebox.jobs(&filter), &filter);
    answers(lanebox.events(&filter), &filter);
    answers(lanebox.sends(&filter), &filter);
    answers(lanebox.lanes(&filter), &filter);
    answers(lanebox.notices(&filter), &filter);
}

fn filter(bytes: &mut Bytes<'_>, text: &str) -> Filter {
    const STATES: [&str; 8] =
        ["dead", "pending", "ready", "running", "unknown", "open", "all", "idle"];
    let mut filter = Filter::new();
    if bytes.byte() % 2 == 1 {
        let lane = LaneArg::from_str(text).expect("every text names a lane");
        filter = LaneArg::narrow(Some(&lane), filter);
    }
    if bytes.byte() % 2 == 1 {
        filter = filter.state(STATES[bytes.below(STATES.len())]);
    }
    if let Some(kind) = bytes.maybe() {
        filter = filter.kind(kind);
    }
    if let Some(org) = bytes.maybe() {
        filter = filter.org(org);
    }
    if let Some(cursor) = bytes.maybe() {
        filter = filter.after(cursor);
    }
    if let Some(since) = bytes.maybe().and_then(|since| Since::from_str(&since).ok()) {
        filter = filter.since(since.from(OffsetDateTime::UNIX_EPOCH));
    }
    if bytes.byte() % 2 == 1 {
        filter = filter.limit(bytes.below(300));
    }
    filter
}

fn answers<T>(page: Result<Page<T>, Error>, filter: &Filter) {
    match page {
        Ok(page) => assert!(page.rows.len() <= 200, "{filter:?}"),
        Err(error) => assert!(is_about_the_question(&error), "{filter:?}: {error:?}"),
    }
}

fn is_about_the_question(error: &Error) -> bool {
    matches!(error, Error::Refused { .. } | Error::NotFound { .. } | Error::Invalid { .. })
}
