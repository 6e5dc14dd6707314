//! Steps of a handler: by their names, each done once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lanebox::{Outcome, Reactions};

use crate::scene::{Answer, Scene, enqueue, job, quick};

/// A job that goes through steps of these names, and is dead of one of them: how many of them did
/// their work, and what it died of.
fn dies_of_steps(names: &'static [&str]) -> (usize, String) {
    let scene = Scene::new();
    let lanebox = scene.open();
    let worked = Arc::new(AtomicUsize::new(0));
    let works = worked.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        for name in names {
            ctx.step(name, || Ok::<_, std::io::Error>(works.fetch_add(1, Ordering::SeqCst)))?;
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(3));
    scene.until_state(id, "dead");
    drop(running);
    (worked.load(Ordering::SeqCst), scene.see(id).error.expect("its reason"))
}

#[test]
fn a_step_whose_name_cannot_be_kept_does_not_do_its_work() {
    assert_eq!(dies_of_steps(&[""]).0, 0);
}

// fault: same-name-is-the-same-step
#[test]
fn two_steps_of_a_run_by_one_name_are_a_mistake_of_the_handler() {
    let (worked, error) = dies_of_steps(&["compose", "compose"]);
    assert_eq!(worked, 1);
    assert!(error.contains("each needs one of its own"), "{error}");
}
