/** A reducer that applies one event to a transcript. Unchanged items stay the same objects. */

import type { JobEvent, KnownEvent } from "../../../clients/typescript/src/types.js";
import { words } from "../format.js";
import type { Call, Item, Note, Transcript, Turn } from "./state.js";

type Of<T extends KnownEvent["type"]> = Extract<KnownEvent, { type: T }>;

export function fold(state: Transcript, anyEvent: JobEvent): Transcript {
  const event = anyEvent as KnownEvent;
  const items = foldItems(state.items, event);
  const isOver =
    state.isOver || event.type === "job.completed" || event.type === "job.failed" || event.type === "job.cancelled";
  return { items, lastSeq: Math.max(state.lastSeq, event.seq), isOver };
}

function foldItems(items: Item[], event: KnownEvent): Item[] {
  const { seq, at } = event;
  switch (event.type) {
    case "job.started":
      return [...items, { kind: "attempt", seq, at, number: event.data.attempt }];
    case "message.delta":
      return withOpenTurn(items, event, (turn) => ({ ...turn, text: turn.text + event.data.text }));
    case "reasoning.delta":
      return withOpenTurn(items, event, (turn) => ({ ...turn, reasoning: turn.reasoning + event.data.text }));
    case "message.completed":
      return withOpenTurn(items, event, (turn) => completeTurn(turn, event));
    case "tool.started":
      return withCall(items, event, event.data.call_id, (call) => ({ ...call, ...startOf(event), status: "running" }));
    case "tool.output":
      return withCall(items, event, event.data.call_id, (call) => ({ ...call, output: call.output + event.data.text }));
    case "tool.completed":
      return withCall(items, event, event.data.call_id, (call) => completeCall(call, event));
    case "approval.requested":
      return withCall(items, event, event.data.call_id, (call) => ({
        ...call,
        tool: event.data.tool,
        input: event.data.input,
        approval: { id: event.data.approval_id, status: "pending", expiresAt: event.data.expires_at },
      }));
    case "approval.resolved":
      return withCall(items, event, event.data.call_id, (call) => resolveCall(call, event));
    case "asset.created":
      return [...items, { kind: "file", seq, at, output: { kind: event.data.kind, asset: event.data.asset } }];
    case "job.completed":
    case "job.failed":
    case "job.cancelled":
      return [...items.map(closed), { kind: "end", seq, at, job: event.data }];
    default: {
      const note = noteOf(event);
      return note ? [...(event.type === "job.retrying" ? items.map(closed) : items), note] : items;
    }
  }
}

/** Returns the note for an event, or undefined if the event has none. */
function noteOf(event: KnownEvent): Note | undefined {
  const note = (text: string, tone: Note["tone"] = "quiet"): Note => ({
    kind: "note",
    seq: event.seq,
    at: event.at,
    tone,
    text,
  });
  switch (event.type) {
    case "log":
      return note(event.data.message, event.data.level === "warning" ? "warning" : "quiet");
    case "asset.rejected":
      return note(`${event.data.path} cannot be an output: ${words(event.data.reason)}`, "warning");
    case "conversation.compacted":
      return note("Earlier messages were summarised to fit the model's context.");
    case "job.retrying":
      return note(`A retry follows (${words(event.data.cause)}): ${event.data.message}`, "warning");
    case "job.waiting":
      return note("Waiting for approval. The job uses no worker in the meantime.");
    default:
      return undefined;
  }
}

/**
 * Changes the open turn, or starts a new turn. Events do not name their turn. In the log, all deltas of a turn come
 * before its `message.completed`, so a delta after it belongs to the next turn.
 */
function withOpenTurn(items: Item[], { seq, at }: KnownEvent, change: (turn: Turn) => Turn): Item[] {
  const last = items.findLastIndex((item) => item.kind === "turn" || item.kind === "attempt");
  const item = items[last];
  if (item?.kind === "turn" && item.isOpen) return items.with(last, change(item));
  const fresh: Turn = { kind: "turn", seq, at, text: "", reasoning: "", calls: [], isOpen: true };
  return [...items, change(fresh)];
}

function completeTurn(turn: Turn, { data }: Of<"message.completed">): Turn {
  const blocks = data.content;
  const text = blocks.filter((block) => block.type === "text").map((block) => block.text);
  const reasoning = blocks.filter((block) => block.type === "reasoning").map((block) => block.text);
  const calls = blocks
    .filter((block) => block.type === "tool_call")
    .map((block): Call => {
      const known = turn.calls.find(({ id }) => id === block.call_id);
      return known ?? { ...newCall(turn.seq, block.call_id), tool: block.tool, input: block.input };
    });
  return {
    ...turn,
    text: text.join("\n\n"),
    reasoning: reasoning.join("\n\n"),
    calls,
    isOpen: false,
    model: data.model,
    usage: data.usage,
  };
}

function newCall(seq: number, id: string): Call {
  return { id, seq, tool: "", input: {}, status: "pending", output: "", isTruncated: false };
}

/** Changes a call in the turn that made it. An unknown call is added to the open turn, or to a new turn. */
function withCall(items: Item[], event: KnownEvent, id: string, change: (call: Call) => Call): Item[] {
  const owner = items.findLastIndex((item) => item.kind === "turn" && item.calls.some((call) => call.id === id));
  const turn = items[owner];
  if (turn?.kind === "turn") {
    const calls = turn.calls.map((call) => (call.id === id ? change(call) : call));
    return items.with(owner, { ...turn, calls });
  }
  const add = (it: Turn) => ({ ...it, calls: [...it.calls, change(newCall(event.seq, id))] });
  return withOpenTurn(items, event, add);
}

function startOf({ seq, data }: Of<"tool.started">) {
  return { seq, tool: data.tool, input: data.input, output: "" };
}

function completeCall(call: Call, { data }: Of<"tool.completed">): Call {
  return {
    ...call,
    status: data.outcome,
    output: data.output || call.output,
    isTruncated: data.truncated,
    exitCode: data.exit_code ?? undefined,
    durationMs: data.duration_ms,
  };
}

function resolveCall(call: Call, { data }: Of<"approval.resolved">): Call {
  if (!call.approval) return call;
  const { status, reason, resolved_by } = data;
  const approval = { ...call.approval, status, by: resolved_by ?? undefined, reason: reason ?? undefined };
  return { ...call, approval };
}

/** Closes a turn at the end of an attempt and marks its unfinished calls as cancelled. */
function closed(item: Item): Item {
  if (item.kind !== "turn") return item;
  const isRunning = (call: Call) => call.status === "running" || call.status === "pending";
  if (!item.isOpen && !item.calls.some(isRunning)) return item;
  const calls = item.calls.map((call): Call => (isRunning(call) ? { ...call, status: "cancelled" } : call));
  return { ...item, calls, isOpen: false };
}
