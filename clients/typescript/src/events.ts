/** The live milestones of all jobs of a tenant. */

import type { Connection } from "./connection.js";
import type { operations } from "./schema.js";
import { readStream } from "./stream.js";
import type { FeedEvent } from "./types.js";

type Query = NonNullable<operations["stream_tenant_events"]["parameters"]["query"]>;

/** The filters of the stream, and its start: after the cursor `after`, or now. */
export interface EventsOptions extends Omit<Query, "types"> {
  /** Filters by event type, such as `job.completed`. */
  types?: string[];
  /** Filters by metadata values. The service accepts up to three. */
  metadata?: Record<string, string | number | boolean>;
  /** Stops the iteration, which then throws the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A position in the stream, with its milestone if there is one. */
export interface TenantEvent {
  /** The position. Pass it as `after` to continue after this event. */
  cursor: string;
  /** The milestone. Undefined at the start of the stream, and periodically while no milestone matches the filters. */
  event: FeedEvent | undefined;
}

/** Yields each milestone once. Does not end by itself. */
export function events(connection: Connection, options: EventsOptions = {}) {
  const { types = [], metadata = {}, after = "", signal, ...filters } = options;
  const ofMetadata = Object.entries(metadata).map(([key, value]) => [`metadata.${key}`, value]);
  const query = { ...filters, types: types.join(), ...Object.fromEntries(ofMetadata) };
  let cursor = after;
  return readStream<TenantEvent>(connection, signal, {
    open(init) {
      const params = { query, header: { "Last-Event-ID": cursor } };
      return connection.api.GET("/v1/events/stream", { params, ...init });
    },
    receive({ id = cursor, event: type, data }) {
      if (id === cursor) return undefined;
      const event = type === "cursor" ? undefined : (JSON.parse(data) as FeedEvent);
      cursor = id;
      return { cursor, event };
    },
  });
}
