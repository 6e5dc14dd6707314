// pg-boss on PostgreSQL: drains by its fetch and complete, 100 jobs each; lanes are strict FIFO keys.
import { PgBoss } from "pg-boss";
import { database, number } from "./postgres.mjs";
import { answer } from "./workload.mjs";

const BATCH = 100;

/** Loops of the program's own until they are told to stop: its worker waits between two fetches. */
function drainers(boss, count, run) {
  let stopping = false;
  const worker = async () => {
    while (!stopping) {
      const jobs = await boss.fetch("noop", { batchSize: BATCH });
      if (jobs.length === 0) {
        await new Promise((wake) => setTimeout(wake, 1));
        continue;
      }
      jobs.forEach(run);
      await boss.complete("noop", jobs.map((job) => job.id));
    }
  };
  const ended = Promise.all(Array.from({ length: count }, worker));
  return { stop: () => ((stopping = true), ended) };
}

await answer({
  async open(ask) {
    const { name, pool, drop } = await database(ask);
    const single = ask.question === "latency";
    const boss = new PgBoss({
      host: process.env.PGHOST,
      user: process.env.PGUSER,
      database: name,
      max: ask.workers + 2,
      schedule: false,
      supervise: false,
      useListenNotify: single,
    });
    boss.on("error", (error) => console.error(error));
    await boss.start();
    const policy = ask.question === "lanes" ? "key_strict_fifo" : "standard";
    await boss.createQueue("noop", { policy, notify: single });
    const insert = ({ payload, lane }) => ({ data: payload, singletonKey: lane });
    return {
      add: (payload) => boss.send("noop", payload),
      addAll: (jobs) => boss.insert("noop", jobs.map(insert)),
      async start(workers, run) {
        if (!single) return drainers(boss, workers, run);
        // A worker that a new job wakes.
        const options = { pollingIntervalSeconds: 0.5, localConcurrency: workers };
        await boss.work("noop", options, async (jobs) => jobs.forEach(run));
        return { stop: () => boss.offWork("noop") };
      },
      stop: (workers) => workers.stop(),
      unfinished: () =>
        number(pool, "SELECT count(*) FROM pgboss.job WHERE name = 'noop' AND state <> 'completed'"),
      async close() {
        await boss.stop({ graceful: false });
        await pool.end();
        await drop();
      },
    };
  },
});
