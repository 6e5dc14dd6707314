//! What a person orders: exit codes, sentences, and the line in the audit.

use lanebox::{Abilities, BoxError, Channel, Delivery, Letter};

use super::*;

const NOBODY: &str = "00000000-0000-0000-0000-000000000000";

fn audit(cli: &Cli) -> String {
    cli.value("SELECT group_concat(who || ' ' || verb || ' ' || ref_kind, ', ') FROM lanebox_audit")
}

#[test]
fn requeue_starts_a_dead_job_again_and_only_a_dead_one() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let json = cli.json(&["requeue", &id, "--by", "ann"]);
    assert_eq!((&json["answer"], &json["sent_before"]), (&"again".into(), &false.into()));
    assert_eq!(audit(&cli), "ann requeue job");
    assert_eq!(cli.json(&["jobs", &id])["series"], 2);
    let refused = cli.run(&["requeue", &id]);
    assert!(refused.refused().contains("is not dead: it can be claimed"), "{refused:?}");
    let unknown = cli.run(&["requeue", NOBODY]);
    assert!(unknown.refused().contains("no job 0000"), "{unknown:?}");
    assert!(cli.run(&["requeue", "seven"]).misused().contains("--help"));
    assert_eq!(audit(&cli), "ann requeue job");
}

#[test]
fn requeue_names_the_job_that_has_the_unique_key_now() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let job = ["enqueue", "turn", "--org", "acme", "--no-lane", "--unique", "order 7"];
    let other = cli.json(&job)["id"].clone();
    let other = other.as_str().expect("an id");
    let refused = cli.run(&["requeue", &id]);
    let said = refused.refused();
    assert!(said.contains(&format!("job {other} has its unique key")), "{refused:?}");
    assert!(said.contains("nothing was changed"), "{refused:?}");
    assert_eq!(cli.json(&["jobs", &id])["state"], "dead");
    cli.run(&["cancel", other]).ok();
    assert_eq!(cli.json(&["requeue", &id])["answer"], "again");
}

/// A dead job, whose send was accepted before it died.
fn dead_after_its_send(cli: &Cli) -> String {
    let id = cli.dead_job("later").to_string();
    cli.sql(
        "INSERT INTO lanebox_channel(id, org, name, timeout_ms, patience_ms) SELECT 1, id, 'mail', 1, 1 FROM lanebox_org WHERE name = 'acme'; \
         INSERT INTO lanebox_send(id, org, origin, seq) SELECT 1, org, 'j' || id, 1 FROM lanebox_job; \
         INSERT INTO lanebox_running(id, org, kind, run_at, token, process, lease_until, started_at, max_attempts) \
         SELECT id, org, kind, 0, 1, 1, 0, 0, 1 FROM lanebox_job; \
         INSERT INTO lanebox_send_try(send, n, key, channel, recipient_hmac, recipient_mask, hash, state, job, token, intended_at) \
         SELECT 1, 1, uuid, 1, zeroblob(32), 'a…@….com', zeroblob(32), 'intended', id, 1, 0 FROM lanebox_job; \
         UPDATE lanebox_send_try SET state = 'accepted', ended_at = 0, receipt = 'r1'; DELETE FROM lanebox_running",
    );
    id
}

#[test]
fn requeue_says_what_was_sent_before() {
    let cli = Cli::new();
    let id = dead_after_its_send(&cli);
    let text = cli.run(&["requeue", &id]);
    assert!(text.ok().contains("accepted before and is not sent again"), "{text:?}");
    assert!(cli.run(&["sends"]).ok().contains("a…@….com"));
    assert!(cli.run(&["sends", "1"]).ok().contains("r1"));
    assert_eq!(cli.json(&["sends", "1"])["history"][0]["state"], "accepted");
    assert_eq!(
        cli.json(&["sends", "--state", "accepted", "--kind", "mail"])["sends"][0]["id"],
        "1"
    );
    assert!(cli.run(&["sends", "9"]).refused().contains("no send 9 in this file"));
}

#[test]
fn cancel_ends_what_waits_and_says_what_had_ended() {
    let cli = Cli::new();
    let id = cli.json(&["enqueue", "turn", "--org", "acme", "--no-lane"])["id"].clone();
    let id = id.as_str().expect("an id");
    assert!(cli.run(&["cancel", id]).ok().contains("is cancelled"));
    assert_eq!(cli.json(&["jobs", id])["reason"], "operator");
    let refused = cli.run(&["cancel", id]);
    assert!(refused.refused().contains("has ended before: it was cancelled"), "{refused:?}");
    assert!(cli.run(&["cancel", NOBODY]).refused().contains("nothing was changed"));
    assert_eq!(audit(&cli), "eva cancel job");
}

#[test]
fn a_notice_is_seen_and_then_dealt_with() {
    let cli = Cli::new();
    let id = cli.dead_job("no such contact").to_string();
    let table = cli.run(&["notices"]);
    assert!(table.ok().contains("job.dead  no such contact") && table.out.contains(&id));
    let text = cli.run(&["notices", "1"]);
    assert!(text.ok().contains("what to do") && text.out.contains("lanebox requeue"), "{text:?}");
    assert_eq!(cli.json(&["notices", "1", "--acknowledge"])["state"], "acknowledged");
    assert_eq!(cli.json(&["notices", "1", "--resolve", "--by", "ann"])["resolved_by"], "ann");
    assert_eq!(cli.json(&["notices"])["notices"], Value::Array(Vec::new()));
    assert_eq!(cli.json(&["notices", "--state", "resolved"])["notices"][0]["id"], "1");
    assert_eq!(audit(&cli), "eva acknowledge notice, ann resolve notice");
    assert!(cli.run(&["notices", "9", "--resolve"]).refused().contains("no notice 9"));
    assert!(cli.run(&["notices", "--resolve"]).misused().contains("--help"));
}

/// A channel whose provider never answers, and keeps nobody waiting.
struct Silent;

impl Channel for Silent {
    fn abilities(&self) -> Abilities {
        Abilities::new(Duration::from_secs(5)).patience(Duration::from_millis(1))
    }

    fn deliver(&self, _: &Letter<'_>) -> Delivery {
        Delivery::Unknown { reason: "no answer".to_owned() }
    }
}

/// Runs what waits until `n` sends are unknown.
fn leave_unknown(cli: &Cli, n: usize) {
    let lanebox = cli.lanebox();
    let (ran, runs) = mpsc::channel();
    let policy = Policy::default();
    let reactions = Reactions::new().channel("mail", Silent).on_kind("turn", policy, move |ctx| {
        let sent = ctx.send("mail", "ann.smith@example.com", "hello");
        ran.send(()).expect("the test waits");
        sent?;
        Ok::<_, BoxError>(Outcome::Done)
    });
    for _ in 0..n {
        cli.run(&["enqueue", "turn", "--org", "acme", "--no-lane"]).ok();
    }
    let running = lanebox.start(reactions).expect("started");
    for _ in 0..n {
        runs.recv_timeout(Duration::from_secs(30)).expect("it ran");
    }
    let _ = running.stop(Duration::from_secs(10));
    let unknown = lanebox.sends(&Filter::new().state("unknown")).expect("a page");
    assert_eq!(unknown.rows.len(), n);
}

#[test]
fn a_person_decides_about_unknown_sends() {
    let cli = Cli::new();
    leave_unknown(&cli, 3);
    let table = cli.run(&["sends", "--state", "unknown"]);
    assert!(table.ok().contains("a…@….com") && !table.out.contains("ann.smith"), "{table:?}");
    let text = cli.run(&["sends", "1"]);
    assert!(text.ok().contains("decide: lanebox resolve 1 --sent"), "{text:?}");
    assert!(text.out.contains("no answer") && table.out.contains("no answer"), "{text:?}");
    let job = cli.json(&["sends", "1"])["job"].clone();
    let trace = cli.run(&["trace", job.as_str().expect("an id")]);
    assert!(trace.ok().contains(": no answer\n"), "{trace:?}");

    assert_eq!(cli.json(&["resolve", "1", "--sent", "--by", "ann"])["answer"], "sent");
    assert!(cli.run(&["resolve", "2", "--resend"]).ok().contains("sent again when its job runs"));
    assert_eq!(cli.json(&["resolve", "3", "--give-up"])["answer"], "given_up");
    let states = |id: &str| cli.json(&["sends", id])["history"][0]["state"].clone();
    assert_eq!([states("1"), states("2"), states("3")], ["accepted", "abandoned", "abandoned"]);
    assert_eq!(audit(&cli), "ann send.sent send, eva send.again send, eva send.give_up send");

    let again = cli.run(&["resolve", "1", "--sent"]);
    assert!(again.refused().contains("send 1 is not unknown: it is accepted"), "{again:?}");
    assert_eq!(cli.json(&["resolve", "1", "--resend"])["answer"], "ordered");
    assert_eq!(cli.json(&["resolve", "1", "--resend"])["answer"], "pending");
    assert!(cli.run(&["resolve", "9", "--sent"]).refused().contains("no send 9"));
    assert!(cli.run(&["resolve", "1"]).misused().contains("--sent|--resend|--give-up"));
    let trace = cli.run(&["trace", "1"]);
    assert!(trace.ok().contains("\n    person ann  send.sent, "), "{trace:?}");
    assert!(trace.out.contains("\n    person eva  send.order, "), "{trace:?}");
    assert!(cli.run(&["doctor"]).ok().contains("none found anything"));
}

#[test]
fn what_a_dead_job_is_ordered_to_send_once_more_says_how_it_starts_again() {
    let cli = Cli::new();
    let id = dead_after_its_send(&cli);
    let requeue = format!("its job is dead, start it again: lanebox requeue {id}");
    for said in ["is sent once more by the next run", "was ordered before, and is not sent yet"] {
        let text = cli.run(&["resolve", "1", "--resend"]);
        assert!(text.ok().contains(said) && text.out.contains(&requeue), "{text:?}");
    }
    assert_eq!(cli.json(&["resolve", "1", "--resend"])["requeue_first"], *id);
    let text = cli.run(&["requeue", &id]);
    assert!(!text.ok().contains("not sent again"), "{text:?}");
    assert_eq!(cli.json(&["resolve", "1", "--resend"])["requeue_first"], Value::Null);
    assert_eq!(audit(&cli), "eva send.order send, eva requeue job");
}

#[test]
fn what_no_run_would_send_once_more_is_refused_with_what_to_do_next() {
    let cli = Cli::new();
    leave_unknown(&cli, 1);
    let id = cli.json(&["sends", "1"])["job"].clone();
    cli.run(&["cancel", id.as_str().expect("an id")]).ok();
    let refused = |more: &str| {
        let answer = cli.run(&["resolve", "1", "--resend"]);
        let said = answer.refused();
        assert!(said.contains("it was cancelled at") && said.contains("(operator)"), "{answer:?}");
        assert!(said.contains("nothing was changed: enqueue a new job"), "{answer:?}");
        assert!(said.contains(more), "{answer:?}");
    };
    refused("say --sent or --give-up about this one");
    assert_eq!(cli.json(&["sends", "1"])["state"], "unknown");
    assert_eq!(cli.json(&["resolve", "1", "--sent"])["answer"], "sent");
    refused("send 1 is not sent again");
    assert_eq!(audit(&cli), "eva cancel job, eva send.sent send");
    assert!(cli.run(&["doctor"]).ok().contains("none found anything"));
}
