//! Events of other programs: any value in any column of a plain INSERT. The file refuses it, or
//! every reader of Lanebox can live with it: lists, traces, the doctor, and the dispatcher, which
//! passes it and goes on.

#![no_main]

use std::cell::RefCell;
use std::time::Duration;

use lanebox::people::Filter;
use lanebox::rusqlite::types::Value;
use lanebox::rusqlite::{Connection, ErrorCode, params_from_iter};
use lanebox::{
    BoxError, Consumer, Durability, Lane, Lanebox, NewJob, Outcome, Policy, Reactions, Running,
    Start,
};
use lanebox_fuzz::{Bytes, place};
use libfuzzer_sys::fuzz_target;

/// Inputs of one file.
const INPUTS: usize = 200;

/// Longer than a dispatcher ever takes.
const LOOKS: usize = 20_000;

const COLUMNS: [&str; 14] = [
    "org",
    "name",
    "entity_type",
    "entity_id",
    "subject",
    "payload",
    "metadata",
    "dedupe_key",
    "occurred_at",
    "recorded_at",
    "uuid",
    "seq",
    "depth",
    "cause_event",
];

struct Scene {
    lanebox: Lanebox,
    running: Option<Running>,
    theirs: Connection,
    left: usize,
    _dir: tempfile::TempDir,
}

impl Scene {
    fn new() -> Scene {
        let (dir, path) = place();
        let builder = Lanebox::builder(&path).durability(Durability::Relaxed).workers(1);
        let lanebox = builder.open().expect("a new file");
        let theirs = Connection::open(&path).expect("it opens");
        theirs.busy_timeout(Duration::from_secs(10)).expect("a timeout");
        let routed = Consumer::new("all", "*").start(Start::Beginning);
        let reactions = Reactions::new()
            .route(routed, |event| {
                Ok(vec![NewJob::raw("turn", "{}", Lane::of(event.subject().unwrap_or("none")))])
            })
            .consume(Consumer::new("kept", "message.*").start(Start::Beginning), |_, event| {
                let _ = event.payload()?;
                Ok::<_, BoxError>(Outcome::Done)
            })
            .on_kind("turn", Policy::default(), |_| Ok::<_, BoxError>(Outcome::Done));
        let running = Some(lanebox.start(reactions).expect("started"));
        Scene { lanebox, running, theirs, left: INPUTS, _dir: dir }
    }
}

thread_local! {
    static SCENE: RefCell<Scene> = RefCell::new(Scene::new());
}

fuzz_target!(|data: &[u8]| {
    SCENE.with_borrow_mut(|scene| {
        scene.left -= 1;
        if scene.left == 0 {
            is_sound(scene);
            *scene = Scene::new();
        }
        insert(scene, &mut Bytes(data));
    });
});

fn insert(scene: &Scene, bytes: &mut Bytes<'_>) {
    let mut columns = vec!["org", "name"];
    let org = if bytes.byte() % 4 == 0 { value(bytes) } else { "acme".to_owned().into() };
    let name =
        if bytes.byte() % 4 == 0 { value(bytes) } else { "message.received".to_owned().into() };
    let mut values = vec![org, name];
    while !bytes.is_empty() && columns.len() < 8 {
        let column = COLUMNS[bytes.below(COLUMNS.len())];
        let value = value(bytes);
        if !columns.contains(&column) {
            columns.push(column);
            values.push(value);
        }
    }
    let marks = vec!["?"; columns.len()].join(", ");
    let sql = format!("INSERT INTO lanebox_event({}) VALUES ({marks})", columns.join(", "));
    match scene.theirs.execute(&sql, params_from_iter(values)) {
        Ok(_) => can_be_lived_with(scene),
        Err(error) => {
            let code = error.sqlite_error_code();
            let refused = [
                Some(ErrorCode::ConstraintViolation),
                Some(ErrorCode::TypeMismatch),
                Some(ErrorCode::TooBig),
            ];
            assert!(refused.contains(&code), "{sql}: {error:?}");
        }
    }
}

fn value(bytes: &mut Bytes<'_>) -> Value {
    match bytes.byte() % 8 {
        0 => Value::Null,
        1 => Value::Integer(i64::from(bytes.number()) << (bytes.byte() % 32)),
        2 => Value::Integer(-i64::from(bytes.number())),
        3 => Value::Real(f64::from(f32::from_bits(bytes.number()))),
        4 => Value::Blob(bytes.piece().to_vec()),
        5 => Value::Text(format!("{{\"text\":{:?}}}", bytes.text())),
        _ => Value::Text(bytes.text()),
    }
}

fn can_be_lived_with(scene: &Scene) {
    scene.lanebox.bell();
    let newest = scene.lanebox.events(&Filter::new().limit(3)).expect("a list");
    assert!(!newest.rows.is_empty(), "it is there");
    until("the dispatcher has passed it", || {
        let consumers = scene.lanebox.consumers().expect("a list");
        consumers.iter().all(|consumer| consumer.lag == 0)
    });
    let newest = scene.lanebox.events(&Filter::new().limit(1)).expect("a list");
    let id = newest.rows[0].id.expect("it has been adopted");
    scene.lanebox.event(id).expect("it can be read");
    scene.lanebox.trace(&id.to_string()).expect("it can be traced");
}

fn is_sound(scene: &mut Scene) {
    let running = scene.running.take().expect("it runs until then");
    let health = running.health();
    assert!(health.is_good(), "{health:?}");
    let _ = running.stop(Duration::from_secs(10));
    let found = scene.lanebox.doctor().expect("a diagnosis");
    assert!(found.sound, "{found:?}");
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    for _ in 0..LOOKS {
        if holds() {
            return;
        }
        std::thread::park_timeout(Duration::from_micros(500));
    }
    panic!("waited in vain until {what}");
}
