//! Steps of a handler: by their names, each done once.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use lanebox::{Outcome, Reactions};

use crate::scene::{Answer, Scene, enqueue, job, quick};

#[test]
fn a_step_whose_name_cannot_be_kept_does_not_do_its_work() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let worked = Arc::new(AtomicUsize::new(0));
    let works = worked.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        ctx.step("", || Ok::<_, std::io::Error>(works.fetch_add(1, Ordering::SeqCst)))?;
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(3));
    scene.until_state(id, "dead");
    assert_eq!(worked.load(Ordering::SeqCst), 0);
    drop(running);
}

// fault: same-name-is-the-same-step
#[test]
fn two_steps_of_a_run_by_one_name_are_a_mistake_of_the_handler() {
    let scene = Scene::new();
    let lanebox = scene.open();
    let worked = Arc::new(AtomicUsize::new(0));
    let works = worked.clone();
    let reactions = Reactions::new().on_kind("turn", quick(), move |ctx| -> Answer {
        for _bubble in ["one", "two"] {
            ctx.step("compose", || Ok::<_, std::io::Error>(works.fetch_add(1, Ordering::SeqCst)))?;
        }
        Ok(Outcome::Done)
    });
    let running = lanebox.start(reactions).expect("started");
    let id = enqueue(&lanebox, job("turn").max_attempts(3));
    scene.until_state(id, "dead");
    assert_eq!(worked.load(Ordering::SeqCst), 1);
    let error = scene.see(id).error.expect("its reason");
    assert!(error.contains("each needs one of its own"), "{error}");
    drop(running);
}
