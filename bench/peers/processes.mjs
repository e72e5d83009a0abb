// Workers in processes of their own, as many as this machine has processors.

import { fork } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import path from "node:path";

const WORKER = path.join(import.meta.dirname, "worker.mjs");

/**
 * Runs workers until nothing is left. Returns when the first job of all began, and when the last was gone, in seconds.
 *
 * The module exports `worker(begun)`, which starts one, calls `begun` as each job begins, and returns what stops it.
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
