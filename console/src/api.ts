/** The service: one client, and whether it answers. */

import { signal } from "@preact/signals";
import { Client, type components } from "../../clients/typescript/src/index.js";
import { ApiError, unwrap } from "../../clients/typescript/src/errors.js";

export { ApiError };
export type { components };
export type Schemas = components["schemas"];
export type Job = Schemas["Job"];
export type Status = Schemas["Status"];

/** When the service stopped answering, in milliseconds; undefined while it answers. */
export const lostSince = signal<number>();
/** Whether the service said that there is no session. */
export const isSignedOut = signal(false);

/** Sends a request once, and notes whether the service answers. */
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

/** The data of an answer, or its problem as an exception. */
export async function call<T>(answer: Promise<{ data?: T; error?: unknown; response: Response }>): Promise<T> {
  return unwrap(await answer);
}

/** The part of a list to load. */
interface PageQuery {
  limit: number;
  cursor?: string;
}

/** Pages of a list that a person would still read. */
const MAX_PAGES = 10;

/** All pages of a list, up to a maximum. */
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

/** A random name for a request. `crypto.randomUUID` exists only with https. */
export function requestKey(): string {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(16)).join("-");
}
