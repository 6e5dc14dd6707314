//! Any event: it is refused by a typed error and nothing is stored, or it reads back as it was
//! given, from a list too.

#![no_main]

use std::cell::RefCell;

use lanebox::people::{EventDetail, Filter};
use lanebox::serde_json::{self, value::RawValue};
use lanebox::time::OffsetDateTime;
use lanebox::{Durability, Error, Lanebox, NewEvent};
use lanebox_fuzz::{Bytes, place};
use libfuzzer_sys::fuzz_target;

/// Inputs of one file.
const INPUTS: usize = 1_000;

struct Scene {
    lanebox: Lanebox,
    left: usize,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let (dir, path) = place();
        let builder = Lanebox::builder(path).durability(Durability::Relaxed);
        Scene { lanebox: builder.open().expect("a new file"), left: INPUTS, _dir: dir }
    }
}

thread_local! {
    static SCENE: RefCell<Scene> = RefCell::new(Scene::new());
}

/// As it was asked for.
struct Asked {
    org: String,
    name: String,
    entity: Option<(String, String)>,
    subject: Option<String>,
    payload: String,
    metadata: Option<Box<RawValue>>,
    occurred_at: Option<OffsetDateTime>,
    dedupe: Option<String>,
}

impl Asked {
    fn read(bytes: &mut Bytes<'_>) -> Asked {
        // Most names are good ones: what is refused at once goes no further.
        let name = match bytes.byte() % 3 {
            0 => bytes.text(),
            _ => "message.received".to_owned(),
        };
        let org = if bytes.byte() % 3 == 0 { bytes.text() } else { "acme".to_owned() };
        let (entity, subject) = (bytes.maybe().zip(bytes.maybe()), bytes.maybe());
        let dedupe = bytes.maybe();
        let payload = if bytes.byte() % 3 == 0 { "{}".to_owned() } else { bytes.text() };
        let metadata = bytes.maybe().and_then(|text| serde_json::from_str(&text).ok());
        let seconds = (bytes.byte() % 3 == 0).then(|| i64::from(bytes.number()) - 2_000_000_000);
        let occurred_at = seconds.and_then(|at| OffsetDateTime::from_unix_timestamp(at).ok());
        Asked { org, name, entity, subject, payload, metadata, occurred_at, dedupe }
    }

    fn event(&self) -> NewEvent {
        let mut event = NewEvent::new(&*self.org, &*self.name).payload_json(self.payload.clone());
        if let Some((kind, id)) = &self.entity {
            event = event.entity(kind, id);
        }
        if let Some(subject) = &self.subject {
            event = event.subject(subject);
        }
        if let Some(metadata) = &self.metadata {
            event = event.metadata(metadata);
        }
        if let Some(at) = self.occurred_at {
            event = event.occurred_at(at);
        }
        if let Some(key) = &self.dedupe {
            event = event.dedupe(key);
        }
        event
    }
}

fuzz_target!(|data: &[u8]| {
    let asked = Asked::read(&mut Bytes(data));
    SCENE.with_borrow_mut(|scene| {
        scene.left -= 1;
        if scene.left == 0 {
            let found = scene.lanebox.doctor().expect("a diagnosis");
            assert!(found.sound, "{found:?}");
            *scene = Scene::new();
        }
        goes_in_and_out(&scene.lanebox, &asked);
    });
});

fn goes_in_and_out(lanebox: &Lanebox, asked: &Asked) {
    let published = match lanebox.publish(asked.event()) {
        Ok(published) => published,
        Err(Error::Invalid { .. } | Error::Conflict { .. }) => return,
        Err(error) => panic!("{error:?}"),
    };
    let event = lanebox.event(published.id()).expect("it was acknowledged");
    let newest = lanebox.events(&Filter::new().limit(1)).expect("a list");
    assert_eq!(newest.rows.len(), 1);
    if let lanebox::Published::New(_) = published {
        assert_eq!(newest.rows[0].id, Some(published.id()));
    }
    assert_eq!(event.payload.as_ref(), Some(&asked.payload));
    if let lanebox::Published::New(_) = published {
        is_as_asked(&event, asked);
    }
    let again = lanebox.publish(asked.event()).expect("the same again");
    if asked.dedupe.is_some() {
        assert_eq!(again.id(), published.id(), "one fact of a key");
    }
}

fn is_as_asked(event: &EventDetail, asked: &Asked) {
    let view = &event.event;
    assert_eq!((&view.org, &view.name), (&asked.org, &asked.name));
    assert_eq!((&view.subject, &event.dedupe_key), (&asked.subject, &asked.dedupe));
    assert_eq!(view.entity_type.clone().zip(view.entity_id.clone()), asked.entity);
    if let Some(metadata) = &asked.metadata {
        assert_eq!(event.metadata.as_deref(), Some(metadata.get()));
    }
    if let Some(at) = asked.occurred_at {
        assert_eq!(view.occurred_at, at.unix_timestamp() * 1_000);
    }
}
