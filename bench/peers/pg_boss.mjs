// pg-boss, with its batch functions `fetch` and `complete`, which have less overhead than its workers.

import { readFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { PgBoss } from "pg-boss";

import { DATABASE_URL, Figures, jobsPerSecond, perSecond } from "./figures.mjs";
import { inProcesses } from "./processes.mjs";

const { version } = JSON.parse(readFileSync("node_modules/pg-boss/package.json"));
const QUEUE = "noop";
const BATCH = 500;
const THOUSAND = 1000;
/** The number of concurrent loops of one process. */
const LOOPS = 2;

const SETTINGS = { connectionString: DATABASE_URL, schedule: false, supervise: false };

/** Starts a worker and returns a function that stops it. Calls `begun` when a batch starts. */
export async function worker(begun) {
  const boss = await new PgBoss({ ...SETTINGS, migrate: false }).start();
  let ended = false;
  const loop = async () => {
    while (!ended) {
      const jobs = await boss.fetch(QUEUE, { batchSize: BATCH });
      if (jobs.length === 0) {
        await sleep(10);
        continue;
      }
      begun();
      await boss.complete(QUEUE, jobs.map((job) => job.id));
    }
  };
  const loops = Promise.all(Array.from({ length: LOOPS }, loop));
  return async () => {
    ended = true;
    await loops;
    await boss.stop({ graceful: false });
  };
}

async function main() {
  const figures = new Figures(`pg-boss ${version}`);
  const pool = new pg.Pool({ connectionString: DATABASE_URL, max: 2 });
  const boss = await new PgBoss({ ...SETTINGS, max: 10 }).start();
  await boss.createQueue(QUEUE);
  const thousand = () => boss.insert(QUEUE, Array.from({ length: THOUSAND }, () => ({ data: {} })));
  const left = async () => {
    const { rows } = await pool.query("select exists (select from pgboss.job where state < 'completed') as some");
    return rows[0].some;
  };

  const fill = async (count) => {
    await boss.deleteAllJobs(QUEUE);
    for (let sent = 0; sent < count; sent += THOUSAND) {
      await thousand();
    }
    await pool.query("vacuum analyze");
  };
  const core = await jobsPerSecond(fill, () => inProcesses(import.meta.filename, left));
  figures.add("queue core", core, "jobs/s");

  await boss.deleteAllJobs(QUEUE);
  figures.add("enqueue one by one, 8 clients", await perSecond(8, () => boss.send(QUEUE, {})), "jobs/s");
  await boss.deleteAllJobs(QUEUE);
  figures.add("enqueue in thousands, 4 clients", (await perSecond(4, thousand)) * THOUSAND, "jobs/s");
  await boss.stop({ graceful: false });
  await pool.end();
  figures.print();
}

if (import.meta.main) {
  await main();
}
