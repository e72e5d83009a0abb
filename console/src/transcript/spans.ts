/** The time spans of a job, computed from its log: model, tools, and waiting. */

import type { JobEvent, KnownEvent } from "../../../clients/typescript/src/types.js";
import { count } from "../format.js";
import { summary } from "./summary.js";

type Reply = Extract<KnownEvent, { type: "message.completed" }>["data"];

export type SpanKind = "queue" | "model" | "tool" | "approval";

export interface Span {
  kind: SpanKind;
  seq: number;
  name: string;
  attempt: number;
  /** The start and the end, in milliseconds since the epoch. */
  from: number;
  to: number;
  isFailed: boolean;
}

/** Returns the spans sorted by start. Spans without an end extend to `now`. */
export function spansOf(events: JobEvent[], now: number): Span[] {
  const spans: Span[] = [];
  const open = new Map<string, Span>();
  let attempt = 0;
  /** The time since which the model may be working; undefined between attempts. */
  let idleSince: number | undefined;
  const begin = (key: string, kind: SpanKind, name: string, { seq, at }: KnownEvent) => {
    const from = Date.parse(at);
    open.set(key, { kind, seq, name, attempt: Math.max(1, attempt), from, to: now, isFailed: false });
  };
  const end = (key: string, at: number, isFailed = false) => {
    const span = open.get(key);
    if (!span) return;
    open.delete(key);
    spans.push({ ...span, to: at, isFailed });
  };
  for (const event of events as KnownEvent[]) {
    const at = Date.parse(event.at);
    switch (event.type) {
      case "job.queued":
        begin("queue", "queue", "Queue", event);
        break;
      case "job.started":
        end("queue", at);
        attempt = event.data.attempt;
        idleSince = at;
        break;
      case "message.completed":
        spans.push({
          kind: "model",
          seq: event.seq,
          name: modelName(event.data),
          attempt,
          from: idleSince ?? at,
          to: at,
          isFailed: false,
        });
        idleSince = at;
        break;
      case "tool.started":
        begin(event.data.call_id, "tool", `${event.data.tool} ${summary(event.data.input)}`, event);
        break;
      case "tool.completed":
        end(event.data.call_id, at, event.data.outcome === "error" || event.data.outcome === "timeout");
        idleSince = at;
        break;
      case "approval.requested":
        begin(event.data.approval_id, "approval", `Approval of ${event.data.tool}`, event);
        break;
      case "approval.resolved":
        end(event.data.approval_id, at, event.data.status !== "approved");
        if (idleSince === undefined) begin("queue", "queue", "Queue", event);
        break;
      case "job.waiting":
        idleSince = undefined;
        break;
      case "job.retrying":
        for (const [key, { kind }] of open) if (kind === "tool") end(key, at, true);
        begin("queue", "queue", "Queue", event);
        idleSince = undefined;
        break;
      case "job.completed":
      case "job.failed":
      case "job.cancelled":
        for (const key of [...open.keys()]) end(key, at, event.type === "job.failed");
        break;
    }
  }
  return [...spans, ...open.values()].sort((a, b) => a.from - b.from || a.seq - b.seq);
}

function modelName({ model, usage }: Reply): string {
  const tokens = usage.input_tokens + usage.output_tokens;
  return tokens ? `${model} · ${count(tokens)} tokens` : model;
}

/** Removes the waiting time, so that short spans stay visible in jobs with long waits. */
export function withoutWaiting(spans: Span[]): Span[] {
  const isWaiting = ({ kind }: Span) => kind === "queue" || kind === "approval";
  const waits = spans.filter(isWaiting);
  const before = (at: number) => waits.reduce((sum, { from, to }) => sum + Math.max(0, Math.min(at, to) - from), 0);
  return spans
    .filter((span) => !isWaiting(span))
    .map((span) => ({ ...span, from: span.from - before(span.from), to: span.to - before(span.to) }));
}
