// Shared measurements of all peers: concurrent clients, fixed rates, and results in the format of `bench --json`.

import { setTimeout as sleep } from "node:timers/promises";

export const { DATABASE_URL } = process.env;
/** The scale: 2 in a full run, 1 in a quick run. */
const SCALE = Number(process.env.PEERS_SCALE ?? 2);
/** The number of jobs enqueued before the workers start. */
export const JOBS = 30_000 * SCALE;

const RUN_MS = 1_500 * SCALE;
const ROUNDS = 3;

export const seconds = () => performance.now() / 1000;

export const median = (sample) => percentile(sample, 50);

export function percentile(sample, percent) {
  const sorted = sample.toSorted((one, other) => one - other);
  return sorted[Math.max(Math.ceil((sorted.length * percent) / 100), 1) - 1];
}

/** The results of one system. */
export class Figures {
  #all = [];
  #system;

  constructor(system) {
    this.#system = system;
  }

  add(name, value, unit) {
    this.#all.push({ name, value, unit, target: null, met: null, of: this.#system });
  }

  addTimes(name, sample) {
    for (const percent of [50, 99]) {
      this.add(`${name}, p${percent}`, percentile(sample, percent), "ms");
    }
  }

  print() {
    process.stdout.write(JSON.stringify(this.#all));
  }
}

/** Returns the operations per second of concurrent clients: the median of several rounds. */
export async function perSecond(clients, once) {
  const rates = [];
  for (let round = 0; round < ROUNDS; round++) {
    const begunAt = seconds();
    let count = 0;
    const client = async () => {
      while (seconds() - begunAt < RUN_MS / 1000) {
        await once();
        count++;
      }
    };
    await Promise.all(Array.from({ length: clients }, client));
    rates.push(count / (seconds() - begunAt));
  }
  return median(rates);
}

/** Returns the jobs per second. `fill` enqueues the jobs; `work` completes them and returns its start and end times. */
export async function jobsPerSecond(fill, work) {
  const rates = [];
  for (let round = 0; round < ROUNDS; round++) {
    await fill(JOBS);
    const [begunAt, endedAt] = await work(JOBS);
    rates.push(JOBS / (endedAt - begunAt));
  }
  return median(rates);
}

/**
 * Returns the delay in milliseconds from the commit of each job to the start of its handler. The handler records its
 * start times in `begunAt`.
 */
export async function delays(count, pauseMs, enqueue, begunAt) {
  const committedAt = [];
  const underWay = [];
  const begun = performance.now();
  for (let job = 0; job < count; job++) {
    await sleep(Math.max(begun + job * pauseMs - performance.now(), 0));
    underWay.push(enqueue(job).then(() => (committedAt[job] = performance.now())));
  }
  await Promise.all(underWay);
  while (Object.keys(begunAt).length < count) {
    await sleep(10);
  }
  return committedAt.map((at, job) => Math.max(begunAt[job] - at, 0));
}

/** The two rates at which delays are measured. */
export const PACES = [
  { name: "idle", count: 150 * SCALE, pauseMs: 20 },
  { name: "300/s", count: 750 * SCALE, pauseMs: 1000 / 300 },
];
