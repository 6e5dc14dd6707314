// graphile-worker on PostgreSQL: drains with its local queue and its batched completion.
import { Logger, makeWorkerUtils, run, runMigrations } from "graphile-worker";
import { database, number } from "./postgres.mjs";
import { answer } from "./workload.mjs";

const logger = new Logger(() => () => {});

/** What its page on performance has for high throughput; a single job starts sooner without. */
const batched = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };

await answer({
  async open(ask) {
    const { pool, drop } = await database(ask);
    // It asks for both. What matters fails its query too.
    pool.on("error", () => {});
    pool.on("connect", (client) => client.on("error", () => {}));
    await runMigrations({ pgPool: pool, logger });
    const utils = await makeWorkerUtils({ pgPool: pool, logger });
    const worker = ask.question === "latency" ? {} : batched;
    const spec = ({ payload, lane }) => ({ identifier: "noop", payload, queueName: lane });
    return {
      add: (payload) => utils.addJob("noop", payload),
      addAll: (jobs) => utils.addJobs(jobs.map(spec)),
      start: (workers, handle) =>
        run({
          pgPool: pool,
          logger,
          noHandleSignals: true,
          preset: { worker: { ...worker, concurrentJobs: workers } },
          taskList: { noop: async () => handle() },
        }),
      stop: (runner) => runner.stop(),
      unfinished: () => number(pool, "SELECT count(*) FROM graphile_worker._private_jobs"),
      async close() {
        await utils.release();
        await pool.end().catch(() => {});
        await drop();
      },
    };
  },
});
