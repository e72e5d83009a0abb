/** Tests of transcripts built from events. */

import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobEvent } from "../../clients/typescript/src/types.js";
import { fold } from "../src/transcript/fold.js";
import { EMPTY, type Transcript, type Turn } from "../src/transcript/state.js";

let seq = 0;
const event = (type: string, data: unknown) =>
  ({ seq: ++seq, type, at: "2026-01-01T00:00:00Z", attempt: 1, data }) as unknown as JobEvent;
const after = (...events: JobEvent[]): Transcript => events.reduce(fold, EMPTY);
const turns = ({ items }: Transcript) => items.filter((item): item is Turn => item.kind === "turn");
const said = (text: string, ...calls: string[]) =>
  event("message.completed", {
    content: [
      { type: "text", text },
      ...calls.map((call_id) => ({ type: "tool_call", call_id, tool: "shell.exec", input: { command: "ls" } })),
    ],
    stop_reason: "end_turn",
    usage: { input_tokens: 1, output_tokens: 2 },
    model: "m",
  });

test("deltas extend a turn, and the complete message replaces them", () => {
  const live = after(event("message.delta", { text: "Hel" }), event("message.delta", { text: "lo" }));
  assert.deepEqual([turns(live)[0]?.text, turns(live)[0]?.isOpen], ["Hello", true]);
  const done = fold(live, said("Hello!"));
  assert.deepEqual([turns(done).length, turns(done)[0]?.text, turns(done)[0]?.isOpen], [1, "Hello!", false]);
});

test("a delta after a complete message starts the next turn", () => {
  const texts = turns(after(said("One"), event("message.delta", { text: "Tw" }))).map(({ text }) => text);
  assert.deepEqual(texts, ["One", "Tw"]);
});

test("a call stays in its turn when other turns follow", () => {
  const state = after(
    said("One", "a", "b"),
    event("tool.started", { call_id: "a", tool: "shell.exec", input: {} }),
    event("tool.output", { call_id: "a", stream: "stdout", text: "x" }),
    said("Two"),
    event("tool.completed", {
      call_id: "a",
      outcome: "ok",
      output: "",
      duration_ms: 5,
      truncated: false,
      exit_code: 0,
    }),
  );
  const [one] = turns(state);
  assert.deepEqual(
    [turns(state).length, one?.calls.map(({ id, status, output }) => [id, status, output])],
    [
      2,
      [
        ["a", "ok", "x"],
        ["b", "pending", ""],
      ],
    ],
  );
});

test("an approval is resolved in its call", () => {
  const asked = after(
    said("", "a"),
    event("approval.requested", {
      approval_id: "p",
      call_id: "a",
      tool: "t",
      input: {},
      expires_at: "2026-01-02T00:00:00Z",
    }),
  );
  assert.equal(turns(asked)[0]?.calls[0]?.approval?.status, "pending");
  const denied = fold(
    asked,
    event("approval.resolved", { approval_id: "p", call_id: "a", approved: false, status: "denied", reason: "no" }),
  );
  const approval = turns(denied)[0]?.calls[0]?.approval;
  assert.deepEqual([approval?.status, approval?.reason], ["denied", "no"]);
});

test("after the end, no call is running", () => {
  const state = after(
    said("", "a"),
    event("tool.started", { call_id: "a", tool: "t", input: {} }),
    event("job.cancelled", { status: "cancelled" }),
  );
  assert.deepEqual(
    [state.isOver, turns(state)[0]?.calls[0]?.status, state.items.at(-1)?.kind],
    [true, "cancelled", "end"],
  );
});

test("unchanged items stay the same objects, and unknown events change nothing", () => {
  const before = after(said("One"), said("Two"));
  const later = fold(fold(before, event("something.new", {})), event("message.delta", { text: "x" }));
  assert.equal(later.items[0], before.items[0]);
  assert.equal(later.items[1], before.items[1]);
});

test("5,000 events are folded within a second", () => {
  const events = Array.from({ length: 5000 }, (_, index) =>
    index % 5 ? event("message.delta", { text: "word " }) : said("x"),
  );
  const start = performance.now();
  after(...events);
  assert.ok(performance.now() - start < 1000);
});
