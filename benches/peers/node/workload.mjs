// The work that every peer on Node does, and how it is measured; the same as workload/src/*.rs.
import { performance } from "node:perf_hooks";

const BULK = 1000;
const JOBS_OF_A_LANE = 20;
/** A wait between single jobs, so that each finds its workers asleep. */
const PACE_MS = 5;

/** A payload of about 200 bytes. */
export const payload = () => ({ text: "x".repeat(188) });

const sleep = (ms) => new Promise((wake) => setTimeout(wake, ms));

class Handler {
  ran = 0;
  /** Tells when a job began, if somebody asks. */
  began = undefined;

  /** The whole work of a job. */
  run() {
    this.began?.(performance.now());
    this.ran += 1;
  }
}

function expect(what, is, should) {
  if (is !== should) throw new Error(`${what}: ${is} instead of ${should}`);
}

function rate(jobs, ms, partial) {
  return { rate: (jobs * 1000) / ms, jobs, partial };
}

const jobs = (count, lane) =>
  Array.from({ length: count }, (_, i) => ({ payload: payload(), lane: lane?.(i) }));

async function enqueue(queue, ask) {
  const each = Math.floor(ask.count / ask.workers);
  const from = performance.now();
  let added = 0;
  const client = async () => {
    for (let i = 0; i < each && performance.now() - from < ask.budget; i += 1) {
      await queue.add(payload());
      added += 1;
    }
  };
  await Promise.all(Array.from({ length: ask.workers }, client));
  const took = performance.now() - from;
  expect("jobs in the store", await queue.unfinished(), added);
  return rate(added, took, added < each * ask.workers);
}

async function bulk(queue, ask) {
  let [added, took] = [0, 0];
  while (added < ask.count && took < ask.budget) {
    const some = jobs(Math.min(BULK, ask.count - added));
    const from = performance.now();
    await queue.addAll(some);
    took += performance.now() - from;
    added += some.length;
  }
  expect("jobs in the store", await queue.unfinished(), added);
  return rate(added, took, added < ask.count);
}

async function drain(queue, ask) {
  const lanes = ask.count / JOBS_OF_A_LANE;
  const lane = ask.question === "lanes" ? (i) => `+49${i % lanes}` : undefined;
  const all = jobs(ask.count, lane);
  for (let at = 0; at < all.length; at += BULK) await queue.addAll(all.slice(at, at + BULK));
  expect("jobs in the store", await queue.unfinished(), ask.count);
  const handler = new Handler();
  const from = performance.now();
  const spent = () => performance.now() - from;
  const workers = await queue.start(ask.workers, () => handler.run());
  while (handler.ran < ask.count && spent() < ask.budget) await sleep(1);
  const inTime = handler.ran >= ask.count;
  // Run is not done: it is done when its commit is there to see.
  while (inTime && (await queue.unfinished()) > 0 && spent() < 2 * ask.budget) await sleep(1);
  const whole = spent();
  await queue.stop(workers);
  const [took, left] = [inTime ? whole : spent(), await queue.unfinished()];
  if (inTime) {
    expect("jobs run", handler.ran, ask.count);
    expect("jobs left", left, 0);
  } else if (handler.ran + left < ask.count) {
    // Some of the last may have run without being recorded, but none is recorded unrun.
    throw new Error(`${handler.ran} jobs run and ${left} left of ${ask.count}`);
  }
  return rate(ask.count - left, took, !inTime);
}

async function latency(queue, ask) {
  const handler = new Handler();
  const workers = await queue.start(ask.workers, () => handler.run());
  const waits = [];
  const warm = Math.floor(ask.count / 10);
  const from = performance.now();
  let added = 0;
  while (added < ask.count + warm && performance.now() - from < ask.budget) {
    await sleep(PACE_MS);
    const began = new Promise((tell, fail) => {
      handler.began = tell;
      setTimeout(() => fail(new Error("a job did not begin within 20 s")), 20_000).unref();
    });
    await queue.add(payload());
    const committed = performance.now();
    added += 1;
    const wait = Math.max(0, (await began) - committed);
    if (added > warm) waits.push(wait);
  }
  // The last one is run, and soon done.
  for (let i = 0; i < 2000 && (await queue.unfinished()) > 0; i += 1) await sleep(1);
  await queue.stop(workers);
  expect("jobs run", handler.ran, added);
  expect("jobs left", await queue.unfinished(), 0);
  if (waits.length === 0) throw new Error("no job was measured within the time");
  waits.sort((a, b) => a - b);
  const at = (share) => waits[Math.round((waits.length - 1) * share)];
  return { p50: at(0.5), p99: at(0.99) };
}

const QUESTIONS = { enqueue, bulk, drain, lanes: drain, latency };

/** Answers the question on the command line: QUESTION COUNT WORKERS full|relaxed FOLDER SECONDS. */
export async function answer(peer) {
  const [question, count, workers, durability, folder, seconds] = process.argv.slice(2);
  const ask = {
    question,
    count: Number(count),
    workers: Number(workers),
    full: durability === "full",
    folder,
    budget: Number(seconds) * 1000,
  };
  const why = peer.cannot?.(ask);
  if (why) {
    console.log(JSON.stringify({ cannot: why }));
    return;
  }
  const queue = await peer.open(ask);
  console.log(JSON.stringify(await QUESTIONS[question](queue, ask)));
  await queue.close();
  // Timers of a peer may be left; nothing more is measured.
  process.exit(0);
}
