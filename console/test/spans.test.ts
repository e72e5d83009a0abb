/** Tests of timeline spans built from a log. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../clients/typescript/src/types.js";
import { spansOf, withoutWaiting } from "../src/transcript/spans.js";

const START = Date.parse("2026-01-01T00:00:00Z");
let seq = 0;
const event = (seconds: number, type: string, data: unknown = {}) =>
  ({ seq: ++seq, type, at: new Date(START + seconds * 1000).toISOString(), attempt: 1, data }) as unknown as JobEvent;
const usage = { input_tokens: 900, output_tokens: 100 };
const said = (seconds: number) => event(seconds, "message.completed", { content: [], model: "m", usage });
const shown = (events: JobEvent[], now = 100) =>
  spansOf(events, START + now * 1000).map(({ kind, from, to, attempt, isFailed }) => [
    kind,
    (from - START) / 1000,
    (to - START) / 1000,
    attempt,
    isFailed,
  ]);

test("a job waits in the queue, asks the model and runs tools", () => {
  const events = [
    event(0, "job.queued"),
    event(2, "job.started", { attempt: 1 }),
    said(5),
    event(5, "tool.started", { call_id: "a", tool: "shell.exec" }),
    event(9, "tool.completed", { call_id: "a", outcome: "error" }),
    said(12),
    event(12, "job.completed"),
  ];
  assert.deepEqual(shown(events), [
    ["queue", 0, 2, 1, false],
    ["model", 2, 5, 1, false],
    ["tool", 5, 9, 1, true],
    ["model", 9, 12, 1, false],
  ]);
});

test("a span without an end extends to now", () => {
  const events = [
    event(0, "job.queued"),
    event(1, "job.started", { attempt: 1 }),
    event(3, "tool.started", { call_id: "a", tool: "t" }),
  ];
  assert.deepEqual(shown(events, 8).at(-1), ["tool", 3, 8, 1, false]);
});

test("an approval is a wait, after which the job is queued again", () => {
  const events = [
    event(0, "job.queued"),
    event(1, "job.started", { attempt: 1 }),
    said(2),
    event(2, "approval.requested", { approval_id: "p", call_id: "a", tool: "t" }),
    event(2, "job.waiting"),
    event(62, "approval.resolved", { approval_id: "p", call_id: "a", status: "approved" }),
    event(63, "job.started", { attempt: 1 }),
    said(64),
    event(64, "job.completed"),
  ];
  assert.deepEqual(shown(events).slice(2), [
    ["approval", 2, 62, 1, false],
    ["queue", 62, 63, 1, false],
    ["model", 63, 64, 1, false],
  ]);
  const short = withoutWaiting(spansOf(events, 0));
  assert.deepEqual(
    short.map(({ kind, from, to }) => [kind, to - from]),
    [
      ["model", 1000],
      ["model", 1000],
    ],
  );
  assert.equal(short[1]?.from, short[0]?.to);
});

test("a retry ends the calls of its attempt", () => {
  const events = [
    event(0, "job.queued"),
    event(0, "job.started", { attempt: 1 }),
    event(1, "tool.started", { call_id: "a", tool: "t" }),
    event(4, "job.retrying", { cause: "worker_lost" }),
    event(6, "job.started", { attempt: 2 }),
    said(7),
    event(7, "job.completed"),
  ];
  assert.deepEqual(shown(events).slice(1), [
    ["tool", 1, 4, 1, true],
    ["queue", 4, 6, 1, false],
    ["model", 6, 7, 2, false],
  ]);
});

test("the span of a model shows its name and tokens", () => {
  const [, span] = spansOf([event(0, "job.queued"), event(1, "job.started", { attempt: 1 }), said(3)], START);
  assert.equal(span?.name, "m · 1,000 tokens");
});
