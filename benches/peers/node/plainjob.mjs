// plainjob on better-sqlite3: synchronous calls in one thread, two commits a job.
import { join } from "node:path";
import Database from "better-sqlite3";
import { better, defineQueue, defineWorker, JobStatus } from "plainjob";
import { answer } from "./workload.mjs";

const silent = { error() {}, warn() {}, info() {}, debug() {} };

await answer({
  cannot({ question, workers }) {
    if (question === "lanes") return "no lanes";
    // More clients of one thread are one client.
    return question === "enqueue" && workers > 1 ? "one thread" : undefined;
  },
  open({ folder, full }) {
    const database = new Database(join(folder, "plainjob.db"));
    const connection = better(database);
    const queue = defineQueue({ connection, logger: silent });
    if (full) database.pragma("synchronous = FULL");
    return {
      add: (job) => queue.add("noop", job),
      addAll: (jobs) => queue.addMany("noop", jobs.map((job) => job.payload)),
      start(count, run) {
        const define = () =>
          defineWorker("noop", () => run(), { queue, logger: silent, pollIntervall: 1 });
        const workers = Array.from({ length: count }, define);
        workers.forEach((worker) => void worker.start());
        return workers;
      },
      stop: (workers) => Promise.all(workers.map((worker) => worker.stop())),
      unfinished: () =>
        queue.countJobs({ status: JobStatus.Pending }) +
        queue.countJobs({ status: JobStatus.Processing }) +
        queue.countJobs({ status: JobStatus.Failed }),
      close: () => queue.close(),
    };
  },
});
