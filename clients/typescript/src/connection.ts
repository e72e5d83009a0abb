/** The connection to a service: its URL, the API key, and requests with retries. */

import createClient from "openapi-fetch";
import { defaults } from "#platform";
import { DEFAULT_TIMING, type Timing, withRetries } from "./retry.js";
import type { paths } from "./schema.js";

export type Send = (request: Request) => Promise<Response>;

export interface ConnectionOptions {
  /** The URL of the service. The default is `SKILLET_URL`, or the origin of the page in a browser. */
  url?: string;
  /** The API key. The default is `SKILLET_API_KEY`, or the session in a browser. */
  apiKey?: string;
  /** A replacement for the global `fetch`. */
  fetch?: Send;
  timing?: Partial<Timing>;
}

export type Connection = ReturnType<typeof connect>;

/** Creates a connection. `api` retries requests that are safe to repeat. `send` sends a request once. */
export function connect(options: ConnectionOptions) {
  const { url: baseUrl = "", apiKey } = { ...defaults, ...options };
  if (!/^https?:\/\/./.test(baseUrl)) throw new TypeError("url (or SKILLET_URL) must begin with http:// or https://");
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const send = options.fetch ?? ((request) => fetch(request));
  const api = createClient<paths>({
    baseUrl,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    async fetch(request) {
      const attempt = async () => ({ response: await send(request.clone()) });
      return (await withRetries(attempt, isRepeatable(request), timing, request.signal)).response;
    },
  });
  return { api, timing, send };
}

function isRepeatable({ method, headers, url }: Request): boolean {
  // Resolving an approval again is safe: only the first resolution takes effect.
  const isOnce = headers.has("idempotency-key") || url.includes("/v1/approvals/");
  return isOnce || ["GET", "HEAD", "PUT", "DELETE"].includes(method);
}
