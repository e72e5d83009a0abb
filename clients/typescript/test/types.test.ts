/** Tests of the event types. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { type UnknownEvent, isTerminal, type Job, type JobEvent } from "skillet-client";

/** Comparing `type` narrows the type of `data`. The `default` branch gets the unsupported types. */
function describe(event: JobEvent): string {
  if (isTerminal(event)) {
    const job: Job = event.data;
    return `ended ${job.status}`;
  }
  switch (event.type) {
    case "tool.completed":
      return event.data.outcome;
    case "message.delta":
    case "reasoning.delta":
      return event.data.text;
    case "job.queued":
    case "job.started":
    case "message.completed":
    case "budget.reserved":
    case "budget.settled":
    case "tool.started":
    case "tool.output":
    case "images.dropped":
    case "approval.requested":
    case "approval.resolved":
    case "asset.created":
    case "asset.rejected":
    case "workspace.saved":
    case "conversation.compacted":
    case "log":
    case "log.trimmed":
    case "job.waiting":
    case "job.resumed":
    case "job.retrying":
      return event.type;
    default: {
      const future: UnknownEvent = event;
      const type: string = future.type;
      return `later: ${type}`;
    }
  }
}

test("the type of an event determines its data, and unknown types are recognized", () => {
  const base = { seq: 1, at: "2026-01-01T00:00:00Z", attempt: 1 };
  assert.equal(describe({ ...base, type: "message.delta", data: { text: "Hi" } }), "Hi");
  assert.equal(describe(JSON.parse('{"seq":2,"type":"future.event"}') as JobEvent), "later: future.event");
});
