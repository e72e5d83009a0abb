/** Names for the schemas of the OpenAPI document that the verbs use. */

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
/** An event of a type that this version knows. */
export type KnownEvent = Schemas["Event"];
/** The event that ends a log. Its data is the job. */
export type TerminalEvent = Extract<KnownEvent, { type: "job.completed" | "job.failed" | "job.cancelled" }>;

/** Stands for the types that this version does not know: TypeScript must see that they are none of the others. */
declare enum UnknownType {
  Any = "any",
}
/** An event of a type that a later version of the service added, as it came. */
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
