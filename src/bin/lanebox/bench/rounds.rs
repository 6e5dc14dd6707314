//! Several short rounds, floor and engine in turn: machines are noisy, and what is compared is
//! measured at nearly the same time.

use std::time::{Duration, Instant};

use anyhow::Context;

use super::clock::now;
use super::engine::{self, BULK};
use super::figures::{Figures, Pair, Question, THREADS};
use super::floor::{self, Sync};
use super::place::Place;
use super::watch::Watch;

const ROUNDS: usize = 5;

/// On a disk so slow that the time is over earlier, this many must do.
const LEAST_ROUNDS: usize = 3;

/// What a round comes to, in slices: two flushes, and at each durability four enqueues, two
/// backlogs that are loaded, drained and loaded and drained by the floor, and the latencies.
const SLICES: f64 = 36.0;

const DISK: &str = "the disk failed: free some room, or choose another directory with --dir";

/// Few enough for the warm-up, many enough to be worth a look at the clock.
const LEAST: usize = 16;

/// So that each thread comes more than once.
const LEAST_OF_A_CROWD: usize = 2 * THREADS;

/// A drain of fewer is mostly the start and the end of an engine.
const LEAST_DRAINED: usize = 1_000;

/// What the statistics of a file count one by one, and what fits on a small disk.
const MOST: usize = 100_000;

/// A warm-up, then rounds of about that many seconds together.
pub fn measure(place: &Place, seconds: u64, watch: &Watch) -> anyhow::Result<(Figures, Duration)> {
    let (begun, whole) = (now(), Duration::from_secs(seconds));
    engine::try_out(&place.within("file")?.db())?;
    let mut figures = Figures::default();
    let warm_up = Round { place, watch, slice: Duration::ZERO, name: "warm-up".to_owned() };
    warm_up.run(&mut figures)?;
    figures.full.latencies.clear();
    figures.relaxed.latencies.clear();
    for round in 1..=ROUNDS {
        let slice = slice(whole, begun, ROUNDS + 1 - round);
        let name = format!("round {round} of {ROUNDS}");
        Round { place, watch, slice, name }.run(&mut figures)?;
        figures.rounds = round;
        if round >= LEAST_ROUNDS && begun.elapsed() > whole {
            break;
        }
    }
    Ok((figures, begun.elapsed()))
}

/// What one measurement may take, if so many rounds are left.
fn slice(whole: Duration, begun: Instant, rounds: usize) -> Duration {
    let left = whole.saturating_sub(begun.elapsed());
    left.div_f64(rounds as f64 * SLICES)
}

/// How many are done in a time at the last rate.
fn size(rate: Option<f64>, time: Duration, least: usize) -> usize {
    let reached = rate.unwrap_or_default() * time.as_secs_f64();
    (reached as usize).clamp(least, MOST)
}

struct Round<'m> {
    place: &'m Place,
    watch: &'m Watch,
    slice: Duration,
    name: String,
}

impl Round<'_> {
    fn run(&self, figures: &mut Figures) -> anyhow::Result<()> {
        self.flush(figures)?;
        for sync in [Sync::Full, Sync::Normal] {
            self.enqueue(sync, figures)?;
            self.crowd(sync, figures)?;
            for workers in [1, 8] {
                self.drain(sync, workers, figures)?;
            }
            let place = self.begin(sync, "latency")?;
            let some = engine::latencies(&place.db(), sync, self.slice, self.watch)?;
            figures.column(sync).latencies.extend(some);
        }
        Ok(())
    }

    /// Says what comes, and makes room for it.
    fn begin(&self, sync: Sync, what: &str) -> anyhow::Result<Place> {
        let durability = match sync {
            Sync::Full => "full",
            Sync::Normal => "relaxed",
        };
        self.watch.next(&format!("{}, {durability}: {what}", self.name))?;
        self.place.within("file")
    }

    fn flush(&self, figures: &mut Figures) -> anyhow::Result<()> {
        let place = self.begin(Sync::Full, "flush")?;
        let (append, overwrite) = (&mut figures.append, &mut figures.overwrite);
        let file = place.dir().join("flushed");
        let flushes = size(append.last(), self.slice, LEAST);
        append.push(floor::append(&file, flushes).context(DISK)?);
        let flushes = size(overwrite.last(), self.slice, LEAST);
        overwrite.push(floor::overwrite(&file, flushes).context(DISK)?);
        Ok(())
    }

    fn enqueue(&self, sync: Sync, figures: &mut Figures) -> anyhow::Result<()> {
        let pair = figures.column(sync).pair_mut(Question::Enqueue);
        let jobs = size(pair.floor.last(), self.slice, LEAST);
        let place = self.begin(sync, "enqueue, floor")?;
        pair.floor.push(floor::enqueue(&place.db(), sync, jobs, 1).context(DISK)?);
        drop(place);
        let place = self.begin(sync, "enqueue")?;
        note(pair, engine::enqueue(&place.db(), sync, jobs)?);
        Ok(())
    }

    fn crowd(&self, sync: Sync, figures: &mut Figures) -> anyhow::Result<()> {
        let pair = figures.column(sync).pair_mut(Question::Crowd);
        let jobs = size(pair.engine.last(), self.slice, LEAST_OF_A_CROWD);
        let place = self.begin(sync, "enqueue by many")?;
        let reached = engine::crowd(&place.db(), sync, jobs)?;
        drop(place);
        note(pair, reached);
        let place = self.begin(sync, "enqueue by many, floor")?;
        pair.floor
            .push(floor::enqueue(&place.db(), sync, jobs, whole(reached.batch)).context(DISK)?);
        Ok(())
    }

    fn drain(&self, sync: Sync, workers: usize, figures: &mut Figures) -> anyhow::Result<()> {
        let column = figures.column(sync);
        let question = Question::Drain(workers);
        let jobs = size(column.pair(question).engine.last(), self.slice * 3, LEAST_DRAINED);
        let place = self.begin(sync, &question.words())?;
        let (bulk, drained) = engine::drain(&place.db(), sync, workers, jobs, self.watch)?;
        drop(place);
        let place = self.begin(sync, "bulk, floor")?;
        let bulk_floor = floor::enqueue(&place.db(), sync, jobs, BULK).context(DISK)?;
        drop(place);
        let place = self.begin(sync, &format!("{}, floor", question.words()))?;
        let drain_floor =
            floor::drain(&place.db(), sync, jobs, whole(drained.batch)).context(DISK)?;
        for (question, reached, floor) in
            [(Question::Bulk, bulk, bulk_floor), (question, drained, drain_floor)]
        {
            let pair = column.pair_mut(question);
            note(pair, reached);
            pair.floor.push(floor);
        }
        Ok(())
    }
}

fn note(pair: &mut Pair, reached: engine::Reached) {
    pair.engine.push(reached.per_s);
    pair.batch.push(reached.batch);
}

fn whole(batch: f64) -> usize {
    (batch.round() as usize).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_fits_its_time_and_its_bounds() {
        let second = Duration::from_secs(1);
        assert_eq!(size(Some(3_000.0), second, LEAST), 3_000);
        assert_eq!(size(None, second, LEAST), LEAST);
        assert_eq!(size(Some(1e12), second, LEAST), MOST);
        assert_eq!(size(Some(f64::NAN), second, LEAST), LEAST);
        assert_eq!(size(Some(3_000.0), Duration::ZERO, LEAST_DRAINED), LEAST_DRAINED);
        assert_eq!((whole(0.2), whole(7.6)), (1, 8));
    }
}
