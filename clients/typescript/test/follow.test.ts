/** Tests of following a job over broken connections. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { ApiError, type JobEvent, StreamError } from "skillet-client";
import { type Fault, startProxy } from "./proxy.js";
import { apiKey, client, collect, log, QUICK, shell, url } from "./service.js";

let job: string;
let whole: JobEvent[];
let bytes: number;

before(async () => {
  job = (await client().run(shell("echo 'Brötchen 🥖'; sleep 0.2; echo two"))).id;
  whole = await log(job);
  const headers = { authorization: `Bearer ${apiKey}` };
  bytes = (await (await fetch(`${url}/v1/jobs/${job}/stream`, { headers })).arrayBuffer()).byteLength;
});

/** A silence timeout that is longer than a response of a slow machine, and short enough for a test. */
const IMPATIENT = { ...QUICK, silenceMs: 8000 };
const closers: (() => void)[] = [];
after(() => closers.forEach((close) => close()));

/** Follows through a proxy that damages only some connections. */
async function through(fault: (count: number) => Fault | undefined, of = job, timing: object = QUICK) {
  const proxy = await startProxy(({ count }) => fault(count));
  closers.push(proxy.close);
  const events = client({ url: proxy.url, timing }).follow(of);
  return { events, proxy };
}

for (const [kind, step, parallel, timing] of [
  ["close", 17, 10, QUICK],
  ["reset", 19, 10, QUICK],
  ["silence", 131, 100, IMPATIENT],
] as const) {
  test(`${kind} after every ${step}th byte: each event arrives exactly once`, async () => {
    const proxy = await startProxy(({ count, number }) => (count === 1 ? { kind, after: number } : undefined));
    closers.push(proxy.close);
    const numbers = Array.from({ length: Math.ceil(bytes / step) }, (_, index) => index * step);
    const follow = async () => {
      for (let n = numbers.pop(); n !== undefined; n = numbers.pop()) {
        const skillet = client({ url: `${proxy.url}/${n}`, timing });
        assert.deepEqual(await collect(skillet.follow(job)), whole, `${kind} after ${n} bytes`);
      }
    };
    await Promise.all(Array.from({ length: parallel }, follow));
    assert(proxy.requests.length >= 2 * Math.ceil(bytes / step));
  });
}

test("a running job is followed over many connections", async () => {
  const { id } = await client().submit(shell("for i in 1 2 3 4 5 6; do echo $i; sleep 0.2; done"));
  // The last event is the largest. The limit grows so that this event arrives in the end.
  const fault = (count: number): Fault => ({ kind: count % 2 ? "close" : "reset", after: 400 * count });
  const { events, proxy } = await through(fault, id);
  assert.deepEqual(await collect(events), await log(id));
  assert(proxy.requests.length > 3, `${proxy.requests}`);
});

test("a new connection continues after the last event", async () => {
  const { events, proxy } = await through((count) => (count === 1 ? { kind: "close", after: bytes - 10 } : undefined));
  await collect(events);
  const path = `GET /v1/jobs/${job}/stream?deltas=true`;
  const [first, ...again] = proxy.requests;
  assert.equal(first, `${path} 0`);
  // There is more than one request if a request used the first connection while it was being closed.
  assert.deepEqual(new Set(again), new Set([`${path} ${whole.length - 1}`]));
});

test("status 204 ends the stream", async () => {
  const proxy = await startProxy(() => undefined);
  closers.push(proxy.close);
  const events = await collect(client({ url: proxy.url }).follow(job, { after: whole.length }));
  assert.deepEqual(events, []);
  assert.equal(proxy.requests.length, 1);
});

for (const status of [400, 401, 403, 404, 410]) {
  test(`status ${status} ends the stream with an error`, async () => {
    const { events, proxy } = await through(() => ({ kind: "answer", status }));
    await assert.rejects(collect(events), (error) => error instanceof ApiError && error.status === status);
    assert.equal(proxy.requests.length, 1);
  });
}

test("a wrong key and an unknown job are ApiErrors", async () => {
  const refused = collect(client({ apiKey: "sk_wrong" }).follow(job));
  await assert.rejects(refused, { name: "ApiError", status: 401 });
  const missing = collect(client().follow(job.replace(/.{8}$/, "00000000")));
  await assert.rejects(missing, (error) => error instanceof ApiError && error.code === "not_found");
});

test("Retry-After is respected each time", async () => {
  const headers = { "retry-after": "1" };
  const { events, proxy } = await through((count) => {
    if (count <= 2) return { kind: "answer", status: count === 1 ? 429 : 503, headers };
    return undefined;
  });
  const begun = performance.now();
  assert.deepEqual(await collect(events), whole);
  assert(performance.now() - begun >= 1990);
  assert.equal(proxy.requests.length, 3);
});

test("the delays double up to the maximum, and an event resets them", async () => {
  const times: number[] = [];
  const timing = { firstDelayMs: 20, maxDelayMs: 1280 };
  const fault = (count: number): Fault | undefined => {
    times.push(performance.now());
    if (count === 9) return { kind: "close", after: bytes - 10 };
    return count < 9 ? { kind: "answer", status: 503 } : undefined;
  };
  const { events } = await through(fault, job, timing);
  await collect(events);
  const pauses = times.slice(1).map((time, index) => time - times[index]!);
  for (const [index, pause] of [20, 40, 80, 160, 320, 640, 1280, 1280, 20].entries()) {
    assert(pauses[index]! >= pause - 2, `${index}: ${pauses}`);
  }
  assert(pauses[7]! < 2560 && pauses[8]! < 1280, `${pauses}`);
});

test("an event of an unknown type is passed on unchanged", async () => {
  const edit = (text: string) => text.replaceAll("tool.output", "future.event");
  const { events } = await through(() => ({ kind: "edit", edit }));
  const expected = JSON.parse(edit(JSON.stringify(whole))) as JobEvent[];
  assert(expected.some((event) => (event.type as string) === "future.event"));
  assert.deepEqual(await collect(events), expected);
});

test("an empty response does not end the stream", async () => {
  const empty: Fault = { kind: "answer", status: 200, headers: { "content-length": "0" } };
  const { events } = await through((count) => (count === 1 ? empty : undefined));
  assert.deepEqual(await collect(events), whole);
});

test("an HTML page of a gateway ends the stream with an error", async () => {
  const page: Fault = { kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<p>Welcome" };
  const { events, proxy } = await through(() => page);
  await assert.rejects(collect(events), (error) => error instanceof StreamError && /text\/html/.test(error.message));
  assert.equal(proxy.requests.length, 1);
});

test("a signal ends the stream: while it is open, during a delay, and before the start", async () => {
  const { id } = await client().submit(shell("sleep 30"));
  const reason = new Error("enough");
  const stop = new AbortController();
  const following = client().follow(id, { signal: stop.signal });
  for (const type of ["job.queued", "job.started"]) assert.equal((await following.next()).value?.type, type);
  setTimeout(() => stop.abort(reason), 100);
  await assert.rejects(collect(following), reason);
  await assert.rejects(collect(client().follow(id, { signal: stop.signal })), reason);

  const pause = new AbortController();
  const { proxy } = await through(() => ({ kind: "answer", status: 503, headers: { "retry-after": "60" } }), id);
  const waiting = collect(client({ url: proxy.url }).follow(id, { signal: pause.signal }));
  setTimeout(() => pause.abort(reason), 200);
  await assert.rejects(waiting, reason);
  await client().api.POST("/v1/jobs/{job_id}/cancel", { params: { path: { job_id: id } } });
});
