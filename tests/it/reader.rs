//! One reader is enough: nothing that needs one asks for a second while it holds it.

use std::time::Duration;

use lanebox::people::{Cancelled, Filter, Page, Requeued};
use lanebox::sends::{Accepted, Resolved, Word};
use lanebox::{
    Abilities, BoxError, Channel, ChannelState, Consumer, Ctx, Delivery, Enqueued, Evidence, JobId,
    Lane, Lanebox, Letter, NewEvent, NewJob, Outcome, Published, Reactions, SendKey, StopReport,
};

use crate::scene::{Answer, Scene, enqueue, job, quick, until};

/// A provider that answers, and for some recipients does not.
struct Post;

impl Channel for Post {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(1)).patience(Duration::from_millis(50))
    }

    fn deliver(&self, letter: &Letter<'_>) -> Delivery {
        if letter.recipient == "nobody" {
            return Delivery::Unknown { reason: "no answer".to_owned() };
        }
        Delivery::accepted(letter.key.to_string())
    }
}

fn event(n: u32) -> NewEvent {
    NewEvent::new("acme", "message.received").subject("ann").dedupe(format!("m{n}"))
}

fn turn(ctx: &Ctx<'_>) -> Answer {
    let text = ctx.step("text", || Ok::<_, BoxError>("hello".to_owned()))?;
    let to = ctx.subject().unwrap_or("ann").to_owned();
    ctx.send("chat", &to, &text)?;
    ctx.send_named("more", "chat", &to, &text)?;
    ctx.progress("sent")?;
    ctx.publish(NewEvent::new("acme", "message.sent"))?;
    ctx.finish_in(|conn| conn.execute("INSERT INTO host (what) VALUES ('sent')", []).map(|_| ()));
    Ok(Outcome::done_with("sent"))
}

fn reactions() -> Reactions {
    Reactions::new()
        .channel("chat", Post)
        .on_kind("turn", quick(), turn)
        .on_kind("dead", quick(), |_ctx| -> Answer { Ok(Outcome::dead("gone")) })
        .consume(Consumer::new("inbox", "message.*"), |_ctx, _event| -> Answer {
            Ok(Outcome::Done)
        })
        .route(Consumer::new("turns", "message.received"), |event| {
            let lane = Lane::of(event.subject().unwrap_or_default());
            Ok(vec![NewJob::raw("turn", "{}", lane).subject("ann")])
        })
}

fn accept(scene: &Scene, lanebox: &Lanebox) -> (JobId, JobId, JobId) {
    let first = lanebox.publish(event(1)).expect("published").id();
    let all = lanebox.publish_all(vec![event(1), event(2)]).expect("published");
    assert_eq!(all[0], Published::Duplicate(first));
    let many = lanebox.enqueue_all(vec![job("turn"), job("turn")]).expect("accepted");
    assert_eq!(many.len(), 2);
    let both = lanebox.transaction(|tx| -> Result<_, BoxError> {
        tx.execute("INSERT INTO host (what) VALUES ('hello')", [])?;
        Ok((tx.publish(event(3))?.id(), tx.enqueue(job("turn"))?.id()))
    });
    let (third, _job) = both.expect("committed");
    let mut host = scene.sql();
    let tx = host.transaction().expect("begun");
    tx.execute("INSERT INTO host (what) VALUES ('hello')", []).expect("a row");
    let again = lanebox.publish_in(&tx, event(3)).expect("published");
    assert_eq!(again, Published::Duplicate(third));
    let accepted = lanebox.enqueue_in(&tx, job("turn")).expect("accepted");
    assert!(matches!(accepted, Enqueued::New(_)));
    tx.commit().expect("committed");
    lanebox.bell();
    let dead = enqueue(lanebox, job("dead").max_attempts(1));
    let unknown = enqueue(lanebox, job("turn").subject("nobody"));
    let later = enqueue(lanebox, job("turn").at(lanebox.now() + Duration::from_secs(600)));
    (dead, unknown, later)
}

fn look(lanebox: &Lanebox, job: JobId) -> SendKey {
    let all = Filter::default();
    let Page { rows: events, .. } = lanebox.events(&all).expect("events");
    lanebox.event(events[0].id.expect("adopted")).expect("an event");
    assert!(!lanebox.jobs(&all).expect("jobs").rows.is_empty());
    lanebox.job(job).expect("a job");
    lanebox.lanes(&all).expect("lanes");
    let sends = lanebox.sends(&all).expect("sends").rows;
    lanebox.send(&sends[0].id).expect("a send");
    let notices = lanebox.notices(&all).expect("notices").rows;
    lanebox.notice(&notices[0].id).expect("a notice");
    assert_eq!(lanebox.consumers().expect("consumers").len(), 2);
    lanebox.stats().expect("stats");
    lanebox.trace(&job.to_string()).expect("a trace");
    lanebox.explain(job).expect("an explanation");
    assert!(lanebox.doctor().expect("a diagnosis").sound);
    lanebox.acknowledge(&notices[0].id, "me").expect("heard");
    let unknown = sends.iter().find(|send| send.state == "unknown").expect("one is unknown");
    let detail = lanebox.send(&unknown.id).expect("a send");
    detail.history[0].key
}

// R6
// fault: reader-asks-for-two
#[test]
fn r6_everything_works_while_all_readers_but_one_are_in_use() {
    let scene = Scene::new();
    let lanebox = scene.open();
    scene.host_table();
    let all = || {
        let running = lanebox.start(reactions()).expect("started");
        let (dead, unknown, later) = accept(&scene, &lanebox);
        scene.until_state(dead, "dead");
        let told = "SELECT count(*) FROM lanebox_notice WHERE kind = 'send.unknown'";
        until("a person is told of the unknown send", || scene.number(told, []) > 0);
        let key = look(&lanebox, unknown);
        let resolved = lanebox.resolve_send(key, Word::Sent, "me").expect("heard");
        assert_eq!(resolved, Resolved::Now);
        let told = lanebox.evidence("chat", key, Some("wamid.1"), Evidence::Echo).expect("heard");
        assert_eq!(told, Accepted::Already);
        let requeued = lanebox.requeue(dead, "me").expect("requeued");
        assert_eq!(requeued, Requeued::Again { sent: false });
        assert_eq!(lanebox.cancel(later, "me").expect("cancelled"), Cancelled::Now);
        lanebox.give_consent("acme", "ann", "chat", "a form").expect("heard");
        lanebox.withdraw_consent("acme", "bob", "chat", "STOP").expect("heard");
        lanebox.set_channel("acme", "chat", ChannelState::Open, None, "me").expect("set");
        lanebox.hold_sends(Some("a test"), "me").expect("held");
        lanebox.hold_sends(None, "me").expect("released");
        assert!(
            running.health().loops.iter().all(|one| one.last_error.is_none()),
            "{:?}",
            running.health()
        );
        running.stop(Duration::from_secs(10))
    };
    let StopReport { still_running, .. } =
        lanebox::testing::with_one_reader(&lanebox, all).expect("three are free");
    assert_eq!(still_running, 0);
}
