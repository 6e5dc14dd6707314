//! One blow: waits for its moment, then kills, or freezes past the lease, and lets life go on.

use std::time::Duration;

use anyhow::Context;
use rustix::process::Signal;

use super::super::clock;
use super::super::halts::{HaltPoint, Halted, Order};
use super::super::log::{Blow, BlowRecord, Log};
use super::super::provider::Point;
use super::cast::{Cast, WORKERS};
use super::child::Child;
use super::plan::{Moment, Planned};
use super::watch::Watch;

/// How long the moment is waited for before the blow is given up: no work comes by any more.
const PATIENCE: Duration = Duration::from_secs(4);
const GLANCE: Duration = Duration::from_millis(50);

/// A freeze that caught its process inside a write stops all the others too: it is thawed for a
/// moment, and frozen again.
const FREEZE: Duration = Duration::from_millis(2_500);
const BREATH: Duration = Duration::from_millis(30);
const FREEZES: usize = 4;

/// Whoever was caught at the moment.
struct Caught {
    who: Who,
    message: Option<String>,
    token: Option<i64>,
}

#[derive(Clone, Copy)]
enum Who {
    Worker(usize),
    Receiver,
}

/// What came of a blow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Struck {
    /// It hit this process.
    Hit { who: String },
    /// Frozen, but its lease was never taken: the other processes did not get that far.
    NoLoss { who: String },
    /// Nobody came by in time.
    Missed,
}

/// Strikes. `turn` chooses the worker that is asked first.
pub fn strike(
    cast: &mut Cast,
    watch: &Watch,
    log: &mut Log,
    blow: Planned,
    turn: usize,
) -> anyhow::Result<Struck> {
    let Some(caught) = catch(cast, watch, blow.moment, turn)? else {
        return Ok(Struck::Missed);
    };
    let who = child(cast, caught.who).name().to_owned();
    note(cast, log, &caught, blow.what, blow.moment)?;
    let lost = match blow.what {
        Blow::Freeze => {
            traffic(cast, Signal::STOP)?;
            let lost = freeze(cast, watch, &caught)?;
            traffic(cast, Signal::CONT)?;
            note(cast, log, &caught, Blow::Thaw, blow.moment)?;
            thaw(cast, &caught)?;
            lost
        }
        Blow::Kill | Blow::Thaw => {
            child(cast, caught.who).kill()?;
            cast.control.release()?;
            match caught.who {
                Who::Worker(n) => cast.restart_worker(n)?,
                Who::Receiver => cast.restart_receiver()?,
            }
            true
        }
    };
    Ok(if lost { Struck::Hit { who } } else { Struck::NoLoss { who } })
}

fn child(cast: &mut Cast, who: Who) -> &mut Child {
    match who {
        Who::Worker(n) => &mut cast.workers[n],
        Who::Receiver => &mut cast.receiver,
    }
}

fn catch(
    cast: &mut Cast,
    watch: &Watch,
    moment: Moment,
    turn: usize,
) -> anyhow::Result<Option<Caught>> {
    match moment {
        Moment::Halt(point @ HaltPoint::Halfway) => halt(cast, watch, Who::Receiver, point),
        Moment::Halt(point) => halt(cast, watch, Who::Worker(turn % WORKERS), point),
        Moment::Hold(point) => hold(cast, watch, point),
    }
}

/// Waiting makes sense: the moment may still come.
fn may_come(cast: &mut Cast, watch: &Watch, deadline: i64) -> anyhow::Result<bool> {
    cast.is_well()?;
    let over = cast.feeder.ended()?.is_some() && watch.unsettled()?.is_nothing();
    Ok(clock::now_ms() < deadline && !over)
}

fn halt(
    cast: &mut Cast,
    watch: &Watch,
    who: Who,
    point: HaltPoint,
) -> anyhow::Result<Option<Caught>> {
    child(cast, who).tell(&Order::HaltAt(point))?;
    let deadline = clock::now_ms() + ms(PATIENCE);
    while may_come(cast, watch, deadline)? {
        if let Some(line) = child(cast, who).line(GLANCE)? {
            let Halted { message, token, .. } = serde_json::from_value(line.clone())
                .with_context(|| format!("{} said {line}", child(cast, who).name()))?;
            return Ok(Some(Caught { who, message: Some(message), token }));
        }
    }
    // It may halt at the last moment: then it goes on at once, and its line is read and dropped.
    child(cast, who).tell(&Order::Go(true))?;
    while child(cast, who).line(GLANCE)?.is_some() {}
    Ok(None)
}

fn hold(cast: &mut Cast, watch: &Watch, point: Point) -> anyhow::Result<Option<Caught>> {
    cast.control.hold(point)?;
    let deadline = clock::now_ms() + ms(PATIENCE);
    while may_come(cast, watch, deadline)? {
        let Some(held) = cast.control.held(GLANCE)? else {
            continue;
        };
        let token = held.key.as_deref().map(|key| watch.token_of(key)).transpose()?.flatten();
        let name = held.client.as_deref().unwrap_or_default();
        let worker = cast.workers.iter().position(|worker| worker.name() == name);
        let n =
            worker.with_context(|| format!("{name:?} called the provider, who is no worker"))?;
        return Ok(Some(Caught { who: Who::Worker(n), message: None, token }));
    }
    cast.control.release()?;
    Ok(None)
}

/// Frozen until its lease was taken from it. Whether that came.
fn freeze(cast: &mut Cast, watch: &Watch, caught: &Caught) -> anyhow::Result<bool> {
    let token = caught.token.context("a worker that was caught has a token")?;
    for _ in 0..FREEZES {
        child(cast, caught.who).signal(Signal::STOP)?;
        let deadline = clock::now_ms() + ms(FREEZE);
        while clock::now_ms() < deadline {
            if !watch.runs(token)? {
                return Ok(true);
            }
            clock::pause(GLANCE);
        }
        child(cast, caught.who).signal(Signal::CONT)?;
        clock::pause(BREATH);
    }
    Ok(false)
}

/// A freeze takes long: what comes in meanwhile would be missing to the blows that follow.
fn traffic(cast: &mut Cast, signal: Signal) -> anyhow::Result<()> {
    match cast.feeder.ended()? {
        None => cast.feeder.signal(signal),
        Some(_) => Ok(()),
    }
}

/// It goes on as if nothing had happened, and finds that it has lost its job.
fn thaw(cast: &mut Cast, caught: &Caught) -> anyhow::Result<()> {
    cast.control.release()?;
    let child = child(cast, caught.who);
    child.tell(&Order::Go(true))?;
    child.signal(Signal::CONT)
}

/// On record before it is done.
fn note(
    cast: &mut Cast,
    log: &mut Log,
    caught: &Caught,
    what: Blow,
    moment: Moment,
) -> anyhow::Result<()> {
    let child = child(cast, caught.who);
    log.append(&BlowRecord {
        at_ms: clock::now_ms(),
        what,
        who: child.name().to_owned(),
        pid: child.pid(),
        point: moment.name().to_owned(),
        message: caught.message.clone(),
    })
}

fn ms(length: Duration) -> i64 {
    i64::try_from(length.as_millis()).unwrap_or(i64::MAX)
}
