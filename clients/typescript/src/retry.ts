/** Retry delays and limits. */

/** The timeouts and delays of retries, in milliseconds. */
export interface Timing {
  /** The delay after the first failure. It doubles with each further failure. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** The time without data after which a stream reconnects. The service sends a comment every 15 s. */
  silenceMs: number;
}

export const DEFAULT_TIMING: Timing = { firstDelayMs: 500, maxDelayMs: 10_000, silenceMs: 45_000 };
/** The maximum number of attempts. Their delays add up to 15.5 s, longer than a restart of the service takes. */
const MAX_ATTEMPTS = 6;
/** The longest `Retry-After` that a request waits for. A request with a longer one fails. Streams have no limit. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Response statuses after which the same request may succeed later. */
export const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);

/** Returns the delay after this number of consecutive failures. */
export function backoffMs(timing: Timing, failures: number): number {
  return Math.min(timing.maxDelayMs, timing.firstDelayMs * 2 ** (failures - 1));
}

/** Parses the header `Retry-After`: seconds or a date. */
export function retryAfterMs({ headers }: Response): number | undefined {
  const header = headers.get("retry-after") ?? "";
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

export async function sleep(ms: number, signal?: AbortSignal | null): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const stop = () => (clearTimeout(timer), signal?.removeEventListener("abort", stop), resolve());
    const timer = setTimeout(stop, ms);
    signal?.addEventListener("abort", stop);
  });
  signal?.throwIfAborted();
}

/**
 * Repeats an attempt until it succeeds, fails permanently or reaches the limit of attempts. A request that is not
 * repeatable may have been executed before its connection was lost. Such a request is repeated only after status 429.
 */
export async function withRetries<T extends { response: Response }>(
  attempt: () => Promise<T>,
  isRepeatable: boolean,
  timing: Timing,
  signal?: AbortSignal | null,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    let delay = backoffMs(timing, failures);
    try {
      const result = await attempt();
      const { response } = result;
      delay = retryAfterMs(response) ?? delay;
      const mayChange = response.status === 429 || (isRepeatable && TRANSIENT.has(response.status));
      if (!mayChange || failures === MAX_ATTEMPTS || delay > MAX_RETRY_AFTER_MS) return result;
      if (!response.bodyUsed) await response.body?.cancel();
    } catch (error) {
      if (!isRepeatable || failures === MAX_ATTEMPTS) throw error;
    }
    await sleep(delay, signal);
  }
}
