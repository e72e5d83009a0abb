/** The API client, and the state of the connection and the session. */

import { signal } from "@preact/signals";
import { Client, type components } from "../../clients/typescript/src/index.js";
import { ApiError, unwrap } from "../../clients/typescript/src/errors.js";

export { ApiError };
export type { components };
export type Schemas = components["schemas"];
export type Job = Schemas["Job"];
export type Status = Schemas["Status"];

/** The time at which the service stopped responding, in milliseconds; undefined while it responds. */
export const lostSince = signal<number>();
/** Whether a request failed with 401 because there is no valid session. */
export const isSignedOut = signal(false);

/** Sends a request once and updates `lostSince` and `isSignedOut`. */
export async function send(request: Request): Promise<Response> {
  try {
    const response = await fetch(request);
    if (response.status < 502 || response.status > 504) lostSince.value = undefined;
    else lostSince.value ??= Date.now();
    if (response.status === 401) isSignedOut.value = true;
    return response;
  } catch (error) {
    if (!request.signal.aborted) lostSince.value ??= Date.now();
    throw error;
  }
}

export const client = new Client({ fetch: send, timing: { maxDelayMs: 4000 } });
export const api = client.api;

/** Returns the data of a successful response. Throws `ApiError` for any other response. */
export async function call<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  return unwrap(await answer);
}

/** The part of a list to load. */
interface PageQuery {
  limit: number;
  cursor?: string;
}

/** The maximum number of pages that `allPages` loads. */
const MAX_PAGES = 10;

/** Returns the entries of all pages of a list, up to `MAX_PAGES` pages. */
export async function allPages<T>(
  load: (query: PageQuery) => Promise<{ data: T[]; next_cursor: string | null }>,
): Promise<T[]> {
  const all: T[] = [];
  const query: PageQuery = { limit: 100 };
  for (let page = 0; page < MAX_PAGES; page++) {
    const { data, next_cursor } = await load(query);
    all.push(...data);
    if (next_cursor === null) break;
    query.cursor = next_cursor;
  }
  return all;
}

/** Returns a random idempotency key. Without https, browsers have no `crypto.randomUUID`. */
export function requestKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}
