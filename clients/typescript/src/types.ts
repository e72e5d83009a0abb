/** Short names for the schemas of the OpenAPI document that the client uses. */

import type { components } from "./schema.js";

type Schemas = components["schemas"];
export type Approval = Schemas["Approval"];
export type Asset = Schemas["Asset"];
export type CreateJob = Schemas["CreateJob"];
/** A milestone of a job. New types may appear. */
export type FeedEvent = Schemas["FeedEvent"];
export type Job = Schemas["Job"];
export type Output = Schemas["Output"];
export type Problem = Schemas["Problem"];
/** An event of a type that this version supports. */
export type KnownEvent = Schemas["Event"];
/** The last event of a log. Its data is the job. */
export type TerminalEvent = Extract<KnownEvent, { type: "job.completed" | "job.failed" | "job.cancelled" }>;

/**
 * A placeholder for event types that this version does not support. It is an enum so that TypeScript can distinguish it
 * from the supported types.
 */
declare enum UnknownType {
  Any = "any",
}
/** An event, unparsed, of a type that this version does not support. */
export interface UnknownEvent {
  seq: number;
  type: UnknownType;
  at: string;
  attempt: number;
  data: unknown;
}
/** An entry of a job's log. New types may appear: keep a `default` branch. */
export type JobEvent = KnownEvent | UnknownEvent;

export function isTerminal(event: JobEvent): event is TerminalEvent {
  return ["job.completed", "job.failed", "job.cancelled"].includes(event.type);
}
