// Worker processes, one for each processor of this machine.

import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import path from "node:path";

const WORKER = path.join(import.meta.dirname, "worker.mjs");

/**
 * Runs workers until `left` returns false. Returns the time at which the first job started and the time at which no job
 * was left, in seconds since the epoch.
 *
 * The module exports `worker(begun)`. It starts a worker, calls `begun` when a job starts, and returns a function that
 * stops the worker.
 */
export async function inProcesses(module, left) {
  const all = Array.from({ length: availableParallelism() }, () =>
    fork(WORKER, [module], { stdio: ["ignore", "ignore", "inherit", "ipc"] }),
  );
  const begun = [];
  for (const child of all) {
    child.on("message", (at) => begun.push(at));
  }
  while (await left());
  const endedAt = Date.now() / 1000;
  const ends = all.map((child) => once(child, "exit"));
  for (const child of all) {
    child.send("end");
  }
  await Promise.all(ends);
  return [Math.min(...begun), endedAt];
}
