/** Test of a program that is killed after a job is created and before the response arrives. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { test } from "node:test";
import { startProxy } from "./proxy.js";
import { client, ROOT } from "./service.js";

/** Starts a program that submits a job with an idempotency key. */
function submit(url: string, key: string): ChildProcess {
  const program = new URL("build/test/submit.js", ROOT).pathname;
  const env = { ...process.env, SKILLET_URL: url };
  return spawn(process.execPath, [program, key], { env, stdio: ["ignore", "pipe", "inherit"] });
}

test("a program that is killed before the response creates only one job when it is restarted", async () => {
  const key = randomUUID();
  const proxy = await startProxy(() => ({ kind: "silence", after: 0 }));
  const killed = submit(proxy.url, key);
  const jobs = async () => {
    const { data } = await client().api.GET("/v1/jobs", { params: { query: { external_id: key } } });
    return data?.data.map(({ id }) => id) ?? [];
  };
  while ((await jobs()).length === 0);
  killed.kill("SIGKILL");
  assert.deepEqual(await once(killed, "exit"), [null, "SIGKILL"]);
  proxy.close();
  const again = submit(process.env.SKILLET_URL ?? "", key);
  const [printed] = (await once(again.stdout!, "data")) as [Buffer];
  assert.deepEqual(await jobs(), [printed.toString().trim()]);
});
