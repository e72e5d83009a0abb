/** Tests of the milestone stream over broken connections. */

import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, test } from "node:test";
import { ApiError, type EventsOptions, type FeedEvent, StreamError, type TenantEvent } from "skillet-client";
import { type Fault, startProxy } from "./proxy.js";
import { apiKey, client, QUICK, shell, url } from "./service.js";

/** The metadata of the jobs of this file, used as a filter. */
const metadata = { batch: randomUUID() };
/** The cursor before these jobs. */
let start: string;
let whole: FeedEvent[];
let bytes: number;

const closers: (() => void)[] = [];
after(() => closers.forEach((close) => close()));

before(async () => {
  start = (await first(client().events({ metadata }))).cursor;
  for (const command of ["true", "echo '<p>Brötchen 🥖' > a.html"]) await client().run({ ...shell(command), metadata });
  const query = { after: start, ...{ "metadata.batch": metadata.batch } };
  do whole = (await client().api.GET("/v1/events", { params: { query } })).data?.data ?? [];
  while (
    // A milestone is visible only after all older transactions have ended.
    whole.length < 6
  );
  assert.deepEqual(types(whole), Array(2).fill(["job.queued", "job.started", "job.completed"]).flat());
  bytes = await sizeOfStream();
});

async function sizeOfStream(): Promise<number> {
  const headers = { authorization: `Bearer ${apiKey}` };
  const { body } = await fetch(`${url}/v1/events/stream?after=${start}&metadata.batch=${metadata.batch}`, { headers });
  let text = "";
  let size = 0;
  for await (const chunk of body!) {
    text += new TextDecoder().decode(chunk);
    size += chunk.byteLength;
    if (text.split("\ndata:").length === whole.length + 2 && text.endsWith("\n\n")) break;
  }
  return size;
}

const types = (events: FeedEvent[]) => events.map(({ type }) => type);

async function first(events: AsyncGenerator<TenantEvent, void>): Promise<TenantEvent> {
  for await (const event of events) return event;
  throw new Error("the stream has ended");
}

/** Returns the first `count` milestones, and the cursors received with them. */
async function collect(events: AsyncIterable<TenantEvent>, count = whole.length) {
  const found: FeedEvent[] = [];
  const cursors: string[] = [];
  for await (const { cursor, event } of events) {
    cursors.push(cursor);
    if (event && found.push(event) === count) break;
  }
  assert.equal(new Set(cursors).size, cursors.length, "each cursor is unique");
  return { found, cursors };
}

/** Follows the milestones through a proxy that damages only some connections. */
async function through(fault: (count: number) => Fault | undefined, options: EventsOptions = {}) {
  const proxy = await startProxy(({ count }) => fault(count));
  closers.push(proxy.close);
  const events = client({ url: proxy.url, timing: QUICK }).events({ after: start, metadata, ...options });
  return { events, proxy };
}

for (const [kind, step, parallel, timing] of [
  ["close", 17, 10, QUICK],
  ["reset", 19, 10, QUICK],
  ["silence", 131, 100, { ...QUICK, silenceMs: 8000 }],
] as const) {
  test(`${kind} after every ${step}th byte: each milestone arrives exactly once`, async () => {
    const proxy = await startProxy(({ count, number }) => (count === 1 ? { kind, after: number } : undefined));
    closers.push(proxy.close);
    const numbers = Array.from({ length: Math.ceil(bytes / step) }, (_, index) => index * step);
    const follow = async () => {
      for (let n = numbers.pop(); n !== undefined; n = numbers.pop()) {
        const events = client({ url: `${proxy.url}/${n}`, timing }).events({ after: start, metadata });
        assert.deepEqual((await collect(events)).found, whole, `${kind} after ${n} bytes`);
      }
    };
    await Promise.all(Array.from({ length: parallel }, follow));
    assert(proxy.requests.length >= 2 * Math.floor(bytes / step));
  });
}

test("without a cursor the stream starts now, and continues from there after a lost connection", async () => {
  const batch = randomUUID();
  const fault = (count: number): Fault | undefined =>
    count < 8 ? { kind: "close", after: 100 + 180 * count } : undefined;
  const { events, proxy } = await through(fault, { after: "", metadata: { batch } });
  const begun = await events.next();
  assert.equal(begun.value?.event, undefined);
  const { id } = await client().submit({ ...shell("true"), metadata: { batch } });
  const { found } = await collect(events, 3);
  assert.deepEqual(types(found), ["job.queued", "job.started", "job.completed"]);
  assert(found.every((event) => event.job_id === id && event.metadata["batch"] === batch));
  const ids = proxy.requests.map((line) => line.split(" ")[2]);
  assert.equal(ids[0], "");
  assert(ids.length > 2 && ids.slice(1).every(Boolean), `${proxy.requests}`);
});

test("a cursor continues in another program", async () => {
  const { cursors } = await collect(client().events({ after: start, metadata }), 2);
  const { found } = await collect(client().events({ after: cursors.at(-1)!, metadata }), whole.length - 2);
  assert.deepEqual(found, whole.slice(2));
});

test("filters are combined", async () => {
  const options = { after: start, metadata, skill: "shell", types: ["job.queued", "job.completed"] };
  const { found } = await collect(client().events(options), 4);
  assert.deepEqual(types(found), ["job.queued", "job.completed", "job.queued", "job.completed"]);
  const refused = collect(client().events({ types: ["tool.output"] }));
  await assert.rejects(
    refused,
    (error) => error instanceof ApiError && /`tool.output` is not a type/.test(error.message),
  );
});

for (const status of [400, 401, 403, 404, 410]) {
  test(`status ${status} ends the stream with an error`, async () => {
    const { events, proxy } = await through((count) =>
      count === 1 ? { kind: "close", after: 0 } : { kind: "answer", status },
    );
    await assert.rejects(collect(events), (error) => error instanceof ApiError && error.status === status);
    assert.equal(proxy.requests.length, 2);
  });
}

test("an expired cursor is an ApiError", async () => {
  // The same position, as a cursor from before a database restore.
  const [, ...position] = Buffer.from(start, "base64url").toString().split(".");
  const expired = Buffer.from(["9", ...position].join(".")).toString("base64url");
  const events = client().events({ after: expired });
  await assert.rejects(collect(events), (error) => error instanceof ApiError && error.code === "cursor_expired");
});

test("Retry-After is respected, and an HTML page of a gateway ends the stream", async () => {
  const busy: Fault = { kind: "answer", status: 503, headers: { "retry-after": "1" } };
  const waiting = await through((count) => (count === 1 ? busy : undefined));
  const begun = performance.now();
  assert.deepEqual((await collect(waiting.events)).found, whole);
  assert(performance.now() - begun >= 990);
  const page: Fault = { kind: "answer", status: 200, headers: { "content-type": "text/html" }, body: "<p>Welcome" };
  await assert.rejects(collect((await through(() => page)).events), StreamError);
});

test("a milestone of an unknown type is passed on unchanged", async () => {
  const old = "job.started";
  const body = whole.map((event, index) => `id: ${index}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
  const stream = body.join("").replaceAll(old, "job.paused");
  const headers = { "content-type": "text/event-stream" };
  const { events } = await through(() => ({ kind: "answer", status: 200, headers, body: stream }));
  const expected = JSON.parse(JSON.stringify(whole).replaceAll(old, "job.paused")) as FeedEvent[];
  assert.deepEqual((await collect(events)).found, expected);
});

test("a signal ends the stream", async () => {
  const reason = new Error("enough");
  const stop = new AbortController();
  const events = client().events({ signal: stop.signal, metadata: { batch: randomUUID() } });
  await events.next();
  setTimeout(() => stop.abort(reason), 100);
  await assert.rejects(collect(events), reason);
});
