/** The milestones of all jobs of the tenant as they come. */

import type { Connection } from "./connection.js";
import type { operations } from "./schema.js";
import { readStream } from "./stream.js";
import type { FeedEvent } from "./types.js";

type Query = NonNullable<operations["stream_tenant_events"]["parameters"]["query"]>;

/** Which milestones, and from where: after the cursor `after`, or from now on. */
export interface EventsOptions extends Omit<Query, "types"> {
  /** Only these types, such as `job.completed`. */
  types?: string[];
  /** Only jobs whose metadata has these values; up to three. */
  metadata?: Record<string, string | number | boolean>;
  /** Ends the iteration with the signal's reason. */
  signal?: AbortSignal | undefined;
}

/** A place in the stream. */
export interface TenantEvent {
  /** Continues the stream after this place, as `after`. */
  cursor: string;
  /** The milestone. Undefined where the stream begins, and now and then while the filters let nothing through. */
  event: FeedEvent | undefined;
}

/** Yields each milestone once. It ends only with an error or by the caller. */
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
