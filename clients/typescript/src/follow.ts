/** A job's log as it grows. */

import type { Connection } from "./connection.js";
import { readStream } from "./stream.js";
import { isTerminal, type JobEvent } from "./types.js";

export interface FollowOptions {
  /** Only events after this `seq`. */
  after?: number;
  /** Whether to send live text and output; true if not given. */
  deltas?: boolean;
  /** Ends the iteration with the signal's reason. The job continues. */
  signal?: AbortSignal | undefined;
}

/** Yields each event of a job's log once, and ends after the event that ends the log. */
export function follow(connection: Connection, job: string, options: FollowOptions = {}) {
  let { after = 0, deltas = true, signal } = options;
  return readStream<JobEvent>(connection, signal, {
    open(init) {
      const params = { path: { job_id: job }, query: { deltas }, header: { "Last-Event-ID": String(after) } };
      return connection.api.GET("/v1/jobs/{job_id}/stream", { params, ...init });
    },
    receive({ data }) {
      const event = JSON.parse(data) as JobEvent;
      if (event.seq <= after) return undefined;
      after = event.seq;
      return event;
    },
    isLast: isTerminal,
  });
}
