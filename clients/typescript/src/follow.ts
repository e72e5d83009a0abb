/** The live log of a job. */

import type { Connection } from "./connection.js";
import { readStream } from "./stream.js";
import { isTerminal, type JobEvent } from "./types.js";

export interface FollowOptions {
  /** Starts after the event with this `seq`. */
  after?: number;
  /** Whether to include deltas: live text and live output. The default is true. */
  deltas?: boolean;
  /** Stops the iteration, which then throws the signal's reason. The job keeps running. */
  signal?: AbortSignal | undefined;
}

/** Yields each event of a job's log once, and ends after the last one. */
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
