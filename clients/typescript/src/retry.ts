/** Attempts that are repeated after a pause. */

/** Times in milliseconds. */
export interface Timing {
  /** The pause after the first failure. Each further failure doubles it. */
  firstDelayMs: number;
  maxDelayMs: number;
  /** A stream that is silent for longer has lost its other end. The service sends a comment every 15 s. */
  silenceMs: number;
}

export const DEFAULT_TIMING: Timing = { firstDelayMs: 500, maxDelayMs: 10_000, silenceMs: 45_000 };
/** Attempts of a request. Their pauses are 15.5 s together, which is longer than a restart of the service. */
const MAX_ATTEMPTS = 6;
/** A request is given up when the service asks for a longer pause. A stream waits as long as it is told. */
const MAX_RETRY_AFTER_MS = 60_000;

/** Statuses of answers that may change. */
export const TRANSIENT = new Set([408, 425, 429, 500, 502, 503, 504]);

/** The pause after that many failures in a row. */
export function backoffMs(timing: Timing, failures: number): number {
  return Math.min(timing.maxDelayMs, timing.firstDelayMs * 2 ** (failures - 1));
}

/** The header `Retry-After`: seconds or a date. */
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
 * Makes a request until it has an answer that repeating it would not change. A request that is not repeatable may have
 * been carried out before its connection was lost, so it is repeated only if the service refused it for its rate.
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
