// graphile-worker, with the batching that its performance documentation recommends for long queues.

import { readFileSync } from "node:fs";
import { Logger, WorkerPreset, makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";

import { DATABASE_URL, Figures, PACES, delays, jobsPerSecond, perSecond } from "./figures.mjs";
import { inProcesses } from "./processes.mjs";

const { version } = JSON.parse(readFileSync("node_modules/graphile-worker/package.json"));
const logger = new Logger(() => () => {});
const THOUSAND = 1000;

const preset = (settings) => ({
  extends: [WorkerPreset],
  worker: { connectionString: DATABASE_URL, pollInterval: 2000, logger, ...settings },
});

const BATCHING = preset({
  concurrentJobs: 24,
  maxPoolSize: 30,
  localQueue: { size: 500 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
});

/** Starts a worker and returns a function that stops it. Calls `begun` when a job starts. */
export async function worker(begun) {
  const runner = await run({
    preset: BATCHING,
    noHandleSignals: true,
    taskList: { noop: () => begun() },
  });
  return () => runner.stop();
}

async function main() {
  const figures = new Figures(`graphile-worker ${version}`);
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
  const utils = await makeWorkerUtils({ connectionString: DATABASE_URL, logger });
  await utils.migrate();
  const thousand = (count) =>
    utils.addJobs(Array.from({ length: count }, () => ({ identifier: "noop", payload: {} })));
  const left = async () => {
    const { rows } = await pool.query("select exists (select from graphile_worker._private_jobs) as some");
    return rows[0].some;
  };

  const fill = async (count) => {
    for (let sent = 0; sent < count; sent += THOUSAND) {
      await thousand(THOUSAND);
    }
    await pool.query("vacuum analyze");
  };
  const core = await jobsPerSecond(fill, () => inProcesses(import.meta.filename, left));
  figures.add("queue core", core, "jobs/s");

  const forget = () => pool.query("truncate graphile_worker._private_jobs");
  const single = await perSecond(8, () => utils.addJob("noop", {}));
  figures.add("enqueue one by one, 8 clients", single, "jobs/s");
  await forget();
  const bulk = await perSecond(4, () => thousand(THOUSAND));
  figures.add("enqueue in thousands, 4 clients", bulk * THOUSAND, "jobs/s");
  await forget();

  for (const { name, count, pauseMs } of PACES) {
    const begunAt = {};
    const noop = ({ job }) => void (begunAt[job] = performance.now());
    const runner = await run({
      preset: preset({ concurrentJobs: 10 }),
      noHandleSignals: true,
      taskList: { noop },
    });
    const sample = await delays(count, pauseMs, (job) => utils.addJob("noop", { job }), begunAt);
    figures.addTimes(`enqueue committed → handler begins, ${name}`, sample);
    await runner.stop();
  }
  await utils.release();
  await pool.end();
  figures.print();
}

if (import.meta.main) {
  await main();
}
