/** Event streams that reconnect after a connection is closed, lost or silent. */

import { createParser, type EventSourceMessage } from "eventsource-parser";
import type { Connection, Send } from "./connection.js";
import { ApiError, StreamError, unwrap } from "./errors.js";
import { backoffMs, sleep, TRANSIENT } from "./retry.js";

/** The request and the event parser of one kind of stream. */
interface Source<T> {
  /** Requests the events after the last one received. */
  open: (init: { parseAs: "stream"; fetch: Send; signal: AbortSignal }) => Promise<Answer>;
  /** Returns the event of a message, or undefined if it was received before. */
  receive: (message: EventSourceMessage) => T | undefined;
  isLast?: (event: T) => boolean;
}

type Answer = { data?: ReadableStream | null; error?: unknown; response: Response };

/**
 * Yields each event once, and ends after the last one. Throws `ApiError` on a permanent error, such as 401, 403 or 404,
 * and `StreamError` if the response is not an event stream. Reconnects after any other error.
 */
export async function* readStream<T>({ send, timing }: Connection, signal: AbortSignal | undefined, source: Source<T>) {
  for (let failures = 1; ; failures++) {
    const attempt = startAttempt(timing.silenceMs, signal);
    let delay: number | undefined;
    try {
      const answer = await attempt.step(source.open({ parseAs: "stream", fetch: send, signal: attempt.signal }));
      const body = unwrap(answer);
      if (answer.response.status === 204) return;
      const type = answer.response.headers.get("content-type");
      // A response without a content type has an incomplete head.
      if (!body || type === null) throw new TypeError("the response has no content");
      if (!type.startsWith("text/event-stream")) throw new StreamError(type);
      for await (const message of messages(body, attempt)) {
        const event = source.receive(message);
        if (event === undefined) continue;
        failures = 1;
        yield event;
        if (source.isLast?.(event)) return;
      }
    } catch (error) {
      if (error instanceof StreamError || (error instanceof ApiError && !TRANSIENT.has(error.status))) throw error;
      delay = error instanceof ApiError ? error.retryAfterMs : undefined;
    } finally {
      attempt.end();
    }
    await sleep(delay ?? backoffMs(timing, failures), signal);
  }
}

type Attempt = ReturnType<typeof startAttempt>;

/** Starts a connection. It is aborted if a step takes longer than `silenceMs`. */
function startAttempt(silenceMs: number, outer?: AbortSignal) {
  const controller = new AbortController();
  const end = () => controller.abort();
  const step = async <T>(pending: Promise<T>): Promise<T> => {
    const timer = setTimeout(end, silenceMs);
    return pending.finally(() => clearTimeout(timer));
  };
  return { signal: AbortSignal.any([controller.signal, ...(outer ? [outer] : [])]), step, end };
}

async function* messages(body: ReadableStream<Uint8Array>, attempt: Attempt) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const ready: EventSourceMessage[] = [];
  const parser = createParser({ onEvent: (message) => ready.push(message) });
  for (;;) {
    const { done, value } = await attempt.step(reader.read());
    if (done) return;
    parser.feed(decoder.decode(value, { stream: true }));
    yield* ready.splice(0);
  }
}
