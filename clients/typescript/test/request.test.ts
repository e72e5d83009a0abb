/** Tests of requests that are retried, and of requests that are not. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, test } from "node:test";
import { ApiError, JobFailed } from "skillet-client";
import { type Fault, type Plan, startProxy } from "./proxy.js";
import { client, QUICK, scenario, shell } from "./service.js";

const closers: (() => void)[] = [];
after(() => closers.forEach((close) => close()));

async function through(plan: Plan) {
  const proxy = await startProxy(plan);
  closers.push(proxy.close);
  return { proxy, skillet: client({ url: proxy.url, timing: QUICK }) };
}

const answer = (status: number, headers: Record<string, string> = {}): Fault => ({ kind: "answer", status, headers });

test("a connection that is lost before the response creates only one job", async () => {
  const { proxy, skillet } = await through(({ count }) => (count <= 2 ? { kind: "lost" } : undefined));
  const external_id = randomUUID();
  const job = await skillet.submit({ ...shell("true"), external_id });
  assert.equal(proxy.requests.length, 3);
  const { data } = await client().api.GET("/v1/jobs", { params: { query: { external_id } } });
  assert.deepEqual(
    data?.data.map(({ id }) => id),
    [job.id],
  );
});

test("two submissions with the same idempotency key create one job", async () => {
  const idempotencyKey = randomUUID();
  const first = await client().submit(shell("true"), { idempotencyKey });
  const second = await client().submit(shell("true"), { idempotencyKey });
  assert.equal(first.id, second.id);
});

test("429 with Retry-After and 503 are retried", async () => {
  const faults = [answer(429, { "retry-after": "1" }), answer(503), answer(502)];
  const { proxy, skillet } = await through(({ count }) => faults[count - 1]);
  const begun = performance.now();
  await skillet.submit(shell("true"));
  assert(performance.now() - begun >= 990);
  assert.equal(proxy.requests.length, 4);
});

test("a request fails after six attempts, or if Retry-After is too long", async () => {
  const { proxy, skillet } = await through(() => answer(503));
  await assert.rejects(skillet.submit(shell("true")), { name: "ApiError", status: 503 });
  assert.equal(proxy.requests.length, 6);
  const busy = await through(() => answer(429, { "retry-after": "3600" }));
  await assert.rejects(busy.skillet.submit(shell("true")), { status: 429, retryAfterMs: 3_600_000 });
  assert.equal(busy.proxy.requests.length, 1);
});

test("a create request without an idempotency key is not retried", async () => {
  const { proxy, skillet } = await through(() => ({ kind: "lost" }));
  const body = { agent: "default" };
  await assert.rejects(skillet.api.POST("/v1/conversations", { body }), TypeError);
  assert.equal(proxy.requests.length, 1);
});

test("a validation error names the field", async () => {
  await assert.rejects(client().submit({ ...shell("true"), prompt: "" }), (error) => {
    assert(error instanceof ApiError);
    assert.deepEqual([error.status, error.code], [422, "invalid_request"]);
    assert.match(error.message, /\/prompt: /);
    return true;
  });
});

test("a decision is retried after a lost response, and a different decision is a conflict", async () => {
  const { skillet } = await through(({ method, path, count }) =>
    method === "POST" && path.startsWith("/v1/approvals/") && count === 1 ? { kind: "lost" } : undefined,
  );
  const { id } = await client().submit(scenario.denied);
  for await (const event of client().follow(id)) {
    if (event.type !== "approval.requested") continue;
    const { status, reason } = await skillet.deny(event.data.approval_id, "No.");
    assert.deepEqual([status, reason], ["denied", "No."]);
    await assert.rejects(skillet.approve(event.data.approval_id), { status: 409 });
  }
});

test("a cancelled job is an error with the job", async () => {
  const skillet = client();
  const external_id = randomUUID();
  const cancelled = skillet.run(
    { ...shell("sleep 60"), external_id },
    {
      onEvent: async ({ type }) => {
        if (type !== "tool.started") return;
        const { data } = await skillet.api.GET("/v1/jobs", { params: { query: { external_id } } });
        const params = { path: { job_id: data?.data[0]?.id ?? "" } };
        await skillet.api.POST("/v1/jobs/{job_id}/cancel", { params });
      },
    },
  );
  await assert.rejects(cancelled, (error) => error instanceof JobFailed && error.job.status === "cancelled");
});

test("an unreachable service and an invalid URL are TypeErrors", async () => {
  const nobody = client({ url: "http://127.0.0.1:1", timing: QUICK });
  await assert.rejects(nobody.submit(shell("true")), TypeError);
  assert.throws(() => client({ url: "127.0.0.1:8420" }), /must begin with http/);
});
