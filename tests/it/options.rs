//! R26: every option is set, read back from the file, and seen to act. (`checkpoint` stands in
//! `space.rs`, with what it saves.)

use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{
    Backoff, Builder, Consumer, Ctx, Durability, Enqueued, Error, Event, Job, Lane, LaneRule,
    Lanebox, NewEvent, NewJob, Outcome, Policy, Preset, Reactions, Start,
};
use time::OffsetDateTime;

use crate::child::Child;
use crate::scene::{
    Answer, Gate, LONG, Opens, Scene, enqueue, held_turns, job, job_in, quick, rest, until,
};

const HOUR: Duration = Duration::from_secs(3_600);

type Log = Arc<Mutex<Vec<String>>>;

fn lines(log: &Log) -> Vec<String> {
    log.lock().expect("no panic").clone()
}

fn text(scene: &Scene, sql: &str) -> String {
    scene.sql().query_row(sql, [], |row| row.get(0)).expect("a text")
}

fn event(name: &str) -> NewEvent {
    NewEvent::new("acme", name).subject("ann")
}

fn ms(at: OffsetDateTime) -> i64 {
    i64::try_from(at.unix_timestamp_nanos() / 1_000_000).expect("a time of today")
}

// Set on a job: whose it is, whom it concerns, when and in what order it runs, how often.
#[test]
fn r26_what_is_set_on_a_job_is_in_the_file_and_decides_its_run() {
    let scene = Scene::new();
    let lanebox = scene.builder().workers(1).open().expect("the file opens");
    let soon = lanebox.now() + Duration::from_millis(300);
    let jobs = [
        job("turn").org("globex").subject("bob").priority(7).max_attempts(3),
        job("turn").org("globex").subject("eve").priority(6),
        job("turn").org("globex").subject("later").at(soon),
    ];
    let [bob, eve, later] = jobs.map(|new| lanebox.job(enqueue(&lanebox, new)).expect("a job").job);
    let set = (bob.org.as_str(), bob.subject.as_deref(), bob.priority, bob.max_attempts);
    assert_eq!(set, ("globex", Some("bob"), 7, 3));
    assert_eq!((eve.priority, eve.max_attempts, later.priority), (6, 10, 500), "as without");
    assert_eq!((later.due_at, later.place.as_deref()), (ms(soon), Some("scheduled")));

    let log = Log::default();
    let ran = log.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        let subject = ctx.subject().unwrap_or_default();
        ran.lock().expect("no panic").push(format!("{} {subject} {}", ctx.org(), ctx.attempt()));
        assert!(subject != "later" || ctx.now() >= soon, "before its time");
        if subject == "bob" { Err("no".into()) } else { Ok(Outcome::Done) }
    });
    let running = lanebox.start(reactions).expect("started");
    scene.until_ended(3);
    assert_eq!(lines(&log)[..2], ["globex eve 1", "globex bob 1"], "smaller first");
    let of = |who: &str| lines(&log).iter().filter(|line| line.contains(who)).count();
    assert_eq!((of("bob"), of("eve"), of("later")), (3, 1, 1));
    assert_eq!(scene.state(bob.id), "dead");
    drop(running);
}

// Set on a job: what makes a second one the same.
#[test]
fn r26_each_key_of_a_job_is_in_the_file_and_answers_the_first_job_as_long_as_it_says() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let source = lanebox.publish(event("message.received")).expect("recorded").id();
    let makers: [&dyn Fn() -> NewJob; 4] = [
        &|| job("once").once_for(source),
        &|| job("once").once_for_named(source, "second"),
        &|| job("dedupe").dedupe("order 7"),
        &|| job("unique").unique("order 7"),
    ];
    let ids = makers.map(|make| {
        let first = lanebox.enqueue(make()).expect("accepted");
        assert!(matches!(first, Enqueued::New(_)), "{first:?}");
        assert_eq!(lanebox.enqueue(make()).expect("known"), Enqueued::Existing(first.id()));
        first.id()
    });
    let named = "SELECT group_concat(name) FROM (SELECT name FROM lanebox_once ORDER BY name)";
    assert_eq!(text(&scene, named), "once,second");
    assert_eq!(lanebox.job(ids[0]).expect("a job").source_event, Some(source));
    let horizon =
        "SELECT k.until - j.created_at FROM lanebox_job_key k JOIN lanebox_job j ON j.id = k.job";
    let days = scene.number(horizon, []) / 86_400_000;
    assert_eq!(days, 90, "counted from its last use");
    let holds = "SELECT count(*) FROM lanebox_job_unique WHERE holds = 1";
    assert_eq!(scene.number(holds, []), 1);

    let done = |_ctx: &Ctx<'_>| -> Answer { Ok(Outcome::Done) };
    let reactions = ["once", "dedupe", "unique"]
        .into_iter()
        .fold(Reactions::new(), |reactions, kind| reactions.on_kind(kind, quick(), done));
    let running = lanebox.start(reactions).expect("started");
    scene.until_ended(4);
    for (n, make) in makers.iter().enumerate() {
        let after = lanebox.enqueue(make()).expect("accepted");
        assert_eq!(matches!(after, Enqueued::New(_)), n == 3, "only `unique` ends with its job");
    }
    drop(running);
}

/// Hangs, and lets its lane go on while it waits.
#[derive(serde::Serialize, serde::Deserialize)]
struct Slow {}

impl Job for Slow {
    const KIND: &'static str = "slow";
    const VERSION: u32 = 3;

    fn lane(&self) -> Lane {
        Lane::of("desk")
    }

    fn policy() -> Policy {
        let backoff = Backoff::exponential(HOUR, HOUR * 2);
        Policy::default().backoff(backoff).max_run(Duration::from_millis(20)).yields()
    }
}

/// Fails, and may do so twice.
#[derive(serde::Serialize, serde::Deserialize)]
struct Twice {}

impl Job for Twice {
    const KIND: &'static str = "twice";

    fn lane(&self) -> Lane {
        Lane::NONE
    }

    fn policy() -> Policy {
        quick().max_attempts(2)
    }
}

// Set on a kind: a typed job takes its lane, its version and its attempts with it; the rest acts in
// whoever runs it, and `yields` in every process.
// fault: attempts-without-end
#[test]
fn r26_what_is_set_on_a_kind_decides_how_its_jobs_are_tried() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let reactions = Reactions::new()
        .on(|ctx, Slow {}| -> Answer {
            assert!(!ctx.wait(LONG) && ctx.cancelled());
            Err("told to stop".into())
        })
        .on(|_ctx, Twice {}| -> Answer { Err("no".into()) })
        .on_kind("beside", quick(), |_ctx| -> Answer { Ok(Outcome::Done) });
    let [slow, twice] = [NewJob::new(&Slow {}), NewJob::new(&Twice {})]
        .map(|new| lanebox.job(enqueue(&lanebox, new.org("acme"))).expect("a job"));
    assert_eq!((slow.version, slow.job.lane.as_deref()), (3, Some("desk")));
    assert_eq!((twice.version, twice.job.lane.as_deref()), (1, None));
    assert_eq!((slow.job.max_attempts, twice.job.max_attempts), (10, 2));

    let running = lanebox.start(reactions).expect("started");
    let yields = "SELECT group_concat(name) FROM lanebox_kind WHERE yields = 1";
    assert_eq!(text(&scene, yields), "slow");
    let id = slow.job.id;
    until("its longest run is over, and it has failed", || scene.see(id).error.is_some());
    assert_eq!(scene.see(id).error.as_deref(), Some("told to stop"));
    let ended = scene.number("SELECT a.ended_at FROM lanebox_attempt a WHERE a.job = 1", []);
    let wait = lanebox.job(id).expect("a job").job.due_at - ended;
    assert!((1_800_000..=3_600_000).contains(&wait), "from half its first wait to all: {wait} ms");
    scene.until_state(enqueue(&lanebox, job_in("beside", "desk")), "done");
    assert_eq!(scene.state(id), "pending", "its lane went on without it");
    scene.until_state(twice.job.id, "dead");
    assert_eq!(scene.see(twice.job.id).attempts, 2);
    drop(running);
}

// Set on a consumer: what it hears, from where on, in which lane, by which code, how often.
#[test]
fn r26_what_is_set_on_a_consumer_is_in_the_file_and_decides_what_it_hears_and_how() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let _old = lanebox.publish_all(vec![event("a.old"), event("a.old")]).expect("recorded");
    // A later millisecond than those before it.
    let before = lanebox.now();
    until("time has passed", || lanebox.now() > before);
    let since = lanebox.now();
    let _old = lanebox.publish(event("b.old")).expect("recorded");

    let log = Log::default();
    let hears = |key: &'static str| {
        let heard = log.clone();
        move |_ctx: &Ctx<'_>, event: &Event| -> Answer {
            let _done = said(&heard, &format!("{key} {}", event.name()))?;
            if key == "now" { Err("no".into()) } else { Ok(Outcome::Done) }
        }
    };
    let all = Consumer::new("all", "a.old").also("b.*").start(Start::Beginning).version(4);
    let at = Consumer::new("since", "*").start(Start::At(since)).lane(LaneRule::Subject);
    let now = Consumer::new("now", "*").lane(LaneRule::Unordered);
    let reactions = Reactions::new()
        .consume(all, hears("all"))
        .consume(at, hears("since"))
        .consume(now.policy(quick().max_attempts(2).yields()), hears("now"));
    let running = lanebox.start(reactions).expect("started");
    let rows = "SELECT group_concat(row, '; ') FROM (SELECT key || ' ' || version || ' ' || started \
                || ' ' || (definition ->> 'lane') || ' ' || (SELECT group_concat(p.name) FROM lanebox_pattern p WHERE p.consumer = c.id) \
                AS row FROM lanebox_consumer c ORDER BY key)";
    let read = "all 4 0 own a.old,b.*; now 1 3 none *; since 1 2 subject *";
    assert_eq!(text(&scene, rows), read);
    let yields = "SELECT group_concat(name) FROM lanebox_kind WHERE yields = 1";
    assert_eq!(text(&scene, yields), "consume.now");

    let _new = lanebox.publish(event("b.new")).expect("recorded");
    scene.until_ended(7);
    let mut heard = lines(&log);
    heard.sort_unstable();
    let all = ["all a.old", "all a.old", "all b.new", "all b.old"];
    let now = ["now b.new", "now b.new"];
    assert_eq!(heard, [&all[..], &now, &["since b.new", "since b.old"]].concat());
    let ended = "SELECT group_concat(row, '; ') FROM (SELECT k.name || ' ' || f.state || ' ' || ifnull(l.name, '-') || ' ' || j.max_attempts AS row \
                 FROM lanebox_finished f JOIN lanebox_job j ON j.id = f.id JOIN lanebox_kind k ON k.id = j.kind \
                 LEFT JOIN lanebox_lane l ON l.id = j.lane GROUP BY 1 ORDER BY 1)";
    let read = "consume.all done all/ann 10; consume.now dead - 2; consume.since done ann 10";
    assert_eq!(text(&scene, ended), read);
    drop(running);

    // Code of an older version hears nothing, and the file keeps the newer one.
    let older = Consumer::new("all", "*").version(3);
    let reactions = Reactions::new().consume(older, |_ctx, _event| -> Answer { Ok(Outcome::Done) });
    let running = lanebox.start(reactions).expect("started");
    let _new = lanebox.publish(event("c.new")).expect("recorded");
    assert!(running.stop(LONG).still_running == 0);
    assert_eq!(scene.number("SELECT version FROM lanebox_consumer WHERE key = 'all'", []), 4);
    assert_eq!(scene.number("SELECT position FROM lanebox_consumer WHERE key = 'all'", []), 4);
}

/// As many runs as there are workers, and one job more than that.
fn runs_at_once(scene: &Scene, builder: Builder, workers: usize) {
    let lanebox = builder.open().expect("the file opens");
    let gate = Gate::default();
    let _opens = Opens(gate.clone());
    let reactions = held_turns(&gate);
    let running = lanebox.start(reactions).expect("started");
    assert_eq!(running.health().workers, workers);
    let before = scene.finished();
    let some = (0..=workers).map(|_| job("turn")).collect();
    let _accepted = lanebox.enqueue_all(some).expect("accepted");
    let runs = i64::try_from(workers).expect("few");
    until("each worker has one", || scene.running() == runs);
    assert_eq!(scene.number("SELECT count(*) FROM lanebox_ready", []), 1, "one waits for a worker");
    gate.open();
    scene.until_ended(before + runs + 1);
    running.stop(LONG);
}

// Set on a handle: how much runs at once, and for how long a claim holds.
#[test]
fn r26_workers_preset_and_lease_are_seen_in_what_runs() {
    let scene = Scene::new();
    runs_at_once(&scene, scene.builder().workers(3), 3);
    runs_at_once(&scene, scene.builder().preset(Preset::Desktop), 2);
    runs_at_once(&scene, scene.builder().preset(Preset::Server), 8);

    for lease in [HOUR, Duration::from_secs(60)] {
        let lanebox = scene.builder().lease(lease).open().expect("the file opens");
        let gate = Gate::default();
        let _opens = Opens(gate.clone());
        let reactions = held_turns(&gate);
        let running = lanebox.start(reactions).expect("started");
        enqueue(&lanebox, job("turn"));
        gate.until_reached();
        let left =
            scene.number("SELECT lease_until FROM lanebox_running", []) - crate::leases::mono_ms();
        let whole = i64::try_from(lease.as_millis()).expect("an hour");
        assert!(left <= whole && left > whole / 2, "{left} ms are left of {whole}");
        gate.open();
        running.stop(LONG);
    }
}

// Set on a handle: what opening and waiting may cost.
#[test]
fn r26_must_exist_durability_and_busy_deadline_hold() {
    let scene = Scene::new();
    let missing = scene.builder().must_exist().open();
    assert!(matches!(missing, Err(Error::Unusable { .. })));
    assert!(!scene.path().exists(), "nothing was made");

    drop(scene.builder().durability(Durability::Relaxed).open().expect("it is made"));
    assert_eq!(scene.number("SELECT relaxed FROM lanebox_meta", []), 1);
    drop(scene.builder().must_exist().open().expect("it is there, and full may be asked of it"));
    let full = Scene::new();
    drop(full.open());
    assert_eq!(full.number("SELECT relaxed FROM lanebox_meta", []), 0);
    let relaxed = full.builder().durability(Durability::Relaxed).open();
    assert!(matches!(relaxed, Err(Error::Setting { what: "durability", .. })));

    let lanebox = full.builder().busy_deadline(Duration::from_millis(120)).open();
    let lanebox: Lanebox = lanebox.expect("the file opens");
    let stranger = full.sql();
    stranger.execute_batch("BEGIN IMMEDIATE").expect("the lock");
    match lanebox.enqueue(job("turn")) {
        Err(Error::Busy { waited_ms }) => assert!(waited_ms >= 120, "{waited_ms}"),
        other => panic!("{other:?}"),
    }
    stranger.execute_batch("ROLLBACK").expect("unlocked");
    enqueue(&lanebox, job("turn"));
    assert_eq!(full.number("SELECT count(*) FROM lanebox_job", []), 1, "what was refused is not");
}

// Set on a handle: a suspect waits for an idle process; only then does a busy one run empty for it.
#[test]
fn r26_suspect_wait_decides_when_a_busy_process_runs_empty() {
    for (wait, order) in [(LONG, ["short", "turn"]), (Duration::ZERO, ["turn", "short"])] {
        let scene = Scene::new();
        let lanebox = scene.builder().suspect_wait(wait).open().expect("the file opens");
        let suspect = enqueue(&lanebox, job("turn"));
        killed_with(&scene);
        let (gate, log) = (Gate::default(), Log::default());
        let _opens = Opens(gate.clone());
        let (held, turns, shorts) = (gate.clone(), log.clone(), log.clone());
        let reactions = Reactions::new()
            .on_kind("long", quick(), move |_ctx| -> Answer {
                held.wait();
                Ok(Outcome::Done)
            })
            .on_kind("turn", quick(), move |_ctx| said(&turns, "turn"))
            .on_kind("short", quick(), move |_ctx| said(&shorts, "short"));
        let mut child = Child::start("hold jobs", &scene.path());
        until("it is held once more", || {
            scene.see(suspect).lost == 1 && scene.state(suspect) == "running"
        });
        let running = lanebox.start(reactions).expect("started");
        enqueue(&lanebox, job("long"));
        gate.until_reached();
        child.kill();
        until("it is lost for the second time", || scene.see(suspect).lost == 2);
        let beside = enqueue(&lanebox, job("short"));
        if wait > Duration::ZERO {
            scene.until_state(beside, "done");
        }
        // Whoever looks has long looked.
        for _ in 0..50 {
            rest();
        }
        gate.open();
        scene.until_ended(3);
        assert_eq!(lines(&log), order);
        running.stop(LONG);
    }
}

fn said(log: &Log, what: &str) -> Answer {
    log.lock().expect("no panic").push(what.to_owned());
    Ok(Outcome::Done)
}

/// A process takes the one job and dies with it.
fn killed_with(scene: &Scene) {
    let mut child = Child::start("hold jobs", &scene.path());
    until("it is held", || scene.running() == 1);
    child.kill();
}
