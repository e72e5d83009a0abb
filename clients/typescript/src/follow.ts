/** A job's log as it grows. */

import { createParser } from "eventsource-parser";
import type { Connection } from "./connection.js";
import { ApiError, unwrap } from "./errors.js";
import { backoffMs, isTransient, sleep } from "./retry.js";
import { isTerminal, type JobEvent } from "./types.js";

export interface FollowOptions {
  /** Only events after this `seq`. */
  after?: number;
  /** Whether to send live text and output; true if not given. */
  deltas?: boolean;
  /** Ends the iteration with the signal's reason. The job continues. */
  signal?: AbortSignal | undefined;
}

/**
 * Yields each event of a job's log once, and ends after the event that ends the log.
 *
 * A connection that is closed, lost or silent before that is made again, from the last event that came. An answer that
 * will not change, such as 401, 403 or 404, is an `ApiError`.
 */
export async function* follow(
  connection: Connection,
  job: string,
  { after = 0, deltas = true, signal }: FollowOptions = {},
): AsyncGenerator<JobEvent, void, undefined> {
  let failures = 0;
  for (;;) {
    const attempt = startAttempt(connection.timing.silenceMs, signal);
    let delay: number | undefined;
    try {
      const body = await open(connection, job, { after, deltas }, attempt);
      if (body === undefined) return;
      for await (const event of read(body, attempt)) {
        if (event.seq <= after) continue;
        after = event.seq;
        failures = 0;
        yield event;
        if (isTerminal(event)) return;
      }
    } catch (error) {
      if (error instanceof ApiError && !isTransient(error.status)) throw error;
      delay = error instanceof ApiError ? error.retryAfterMs : undefined;
    } finally {
      attempt.end();
    }
    failures += 1;
    await sleep(delay ?? backoffMs(connection.timing, failures), signal);
  }
}

type Attempt = ReturnType<typeof startAttempt>;

/** One connection, which ends when a step of it takes too long. */
function startAttempt(silenceMs: number, outer?: AbortSignal) {
  const controller = new AbortController();
  const end = () => controller.abort();
  const step = async <T>(pending: Promise<T>): Promise<T> => {
    const timer = setTimeout(end, silenceMs);
    return pending.finally(() => clearTimeout(timer));
  };
  return { signal: AbortSignal.any([controller.signal, ...(outer ? [outer] : [])]), step, end };
}

/** The body of the stream; undefined if there is nothing more to come. */
async function open(connection: Connection, job: string, from: { after: number; deltas: boolean }, attempt: Attempt) {
  const request = connection.api.GET("/v1/jobs/{job_id}/stream", {
    params: {
      path: { job_id: job },
      query: { deltas: from.deltas },
      header: { "Last-Event-ID": String(from.after) },
    },
    parseAs: "stream",
    fetch: connection.send,
    signal: attempt.signal,
  });
  const result = await attempt.step(request);
  const body = unwrap(result);
  if (result.response.status === 204) return undefined;
  const type = result.response.headers.get("content-type");
  if (!body || !type?.startsWith("text/event-stream")) throw new TypeError(`${type} is not an event stream`);
  return body;
}

async function* read(body: ReadableStream<Uint8Array>, attempt: Attempt) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const events: JobEvent[] = [];
  const parser = createParser({ onEvent: ({ data }) => events.push(JSON.parse(data) as JobEvent) });
  for (;;) {
    const { done, value } = await attempt.step(reader.read());
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
    yield* events.splice(0);
  }
}
