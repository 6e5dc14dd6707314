//! A started engine with trouble at a call of any of its threads: while it takes what is due,
//! routes, keeps a step, sends, writes the host's rows and ends. Whatever it was told, once the
//! trouble is over each job has done its work once, and each message is out once.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use lanebox::{
    Abilities, Backoff, BoxError, Channel, Consumer, Ctx, Delivery, Lane, Lanebox, Letter, Lookup,
    NewJob, Outcome, Policy, Reactions, SendKey, Start,
};

use crate::faults::{open, says, sound, tells_what_happened};
use crate::trouble::{self, Trouble};

/// How long an engine may go on with the trouble.
const IN_TROUBLE: Duration = Duration::from_millis(60);

/// Longer than anybody waits whose work goes on.
const LONG: Duration = Duration::from_secs(30);

/// One job that was enqueued, and one that the event makes.
const DONE: &str = "SELECT (SELECT count(*) FROM lanebox_finished f JOIN lanebox_job j ON j.id = f.id JOIN lanebox_kind k ON k.id = j.kind WHERE k.name = 'turn' AND f.state = 'done') = 2 \
     AND (SELECT count(*) FROM lanebox_send_try WHERE state = 'accepted') = 2 AND (SELECT count(*) FROM work) = 2";

/// A provider that is not on this disk.
#[derive(Clone, Default)]
struct Post(Arc<Mutex<Vec<SendKey>>>);

impl Post {
    fn out(&self) -> Vec<SendKey> {
        self.0.lock().expect("no panic").clone()
    }
}

impl Channel for Post {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_millis(50)).lookup_after(Duration::from_millis(1))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        self.0.lock().expect("no panic").push(letter.key);
        Delivery::accepted(letter.key.to_string())
    }

    fn lookup(&self, key: SendKey) -> Lookup {
        match self.out().contains(&key) {
            true => Lookup::Found { receipt: key.to_string() },
            false => Lookup::NotFound,
        }
    }
}

fn reactions(post: &Post) -> Reactions {
    let often = Backoff::exponential(Duration::from_millis(1), Duration::from_millis(5));
    let policy = Policy::default().max_attempts(90).backoff(often);
    let turn = || NewJob::raw("turn", "{}", Lane::of("ann"));
    Reactions::new()
        .channel("post", post.clone())
        .route(
            Consumer::new("turns", "message.first").start(Start::Beginning).policy(policy),
            move |_| Ok::<_, BoxError>(vec![turn()]),
        )
        .on_kind("turn", policy, take_turn)
}

fn take_turn(ctx: &Ctx<'_>) -> Result<Outcome, BoxError> {
    let text = ctx.step("think", || Ok::<_, BoxError>("hello".to_owned()))?;
    ctx.send("post", "+4915112345678", &text)?;
    let job = ctx.job().to_string();
    // Once: a second row of a job would be refused, and so would be its end.
    ctx.finish_in(move |tx| tx.execute("INSERT INTO work VALUES (?1)", [job]).map(drop));
    Ok(Outcome::Done)
}

/// Makes the table that the jobs write to.
pub fn prepare(lanebox: &Lanebox) {
    let table = "CREATE TABLE work (job TEXT PRIMARY KEY)";
    lanebox.transaction(|tx| tx.execute_batch(table).map_err(BoxError::from)).expect("a table");
}

/// Whether there was trouble at all.
pub fn case(path: &Path, trouble: Trouble) -> bool {
    let post = Post::default();
    let lanebox = open(path).expect("opened");
    trouble::begin(trouble);
    let started = lanebox.start(reactions(&post));
    // Whoever asks the file would be in the same trouble.
    wait(IN_TROUBLE, || post.out().len() == 2);
    let met = trouble::end();
    match started {
        Ok(running) => drop(running.stop(LONG)),
        Err(error) => tells_what_happened(&error),
    }
    drop(lanebox);
    settles(path, &post);
    met
}

// Another process comes: everything is done, once.
fn settles(path: &Path, post: &Post) {
    let lanebox = open(path).expect("opened anew");
    let running = lanebox.start(reactions(post)).expect("started");
    assert!(wait(LONG, || says(path, DONE)), "it does not come to its end");
    assert_eq!(running.stop(LONG).still_running, 0);
    drop(lanebox);
    let mut out = post.out();
    out.sort_unstable();
    out.dedup();
    assert_eq!((out.len(), post.out().len()), (2, 2), "each message once");
    sound(path);
}

// Whether it came to hold in time.
fn wait(longest: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let rest = Duration::from_millis(2);
    (0..longest.as_millis() / rest.as_millis()).any(|_| {
        std::thread::park_timeout(rest);
        holds()
    })
}
