/** A service, the key for it, and how requests are sent. */

import createClient from "openapi-fetch";
import { defaults } from "#platform";
import { DEFAULT_TIMING, type Timing, withRetries } from "./retry.js";
import type { paths } from "./schema.js";

export type Send = (request: Request) => Promise<Response>;

export interface ConnectionOptions {
  /** The address of the service; `SKILLET_URL`, or in a browser the page's origin, if not given. */
  url?: string;
  /** The key; `SKILLET_API_KEY`, or in a browser the session, if not given. */
  apiKey?: string;
  /** In place of the global `fetch`. */
  fetch?: Send;
  timing?: Partial<Timing>;
}

export type Connection = ReturnType<typeof connect>;

/** `api` repeats requests that can be repeated without harm. `send` sends a request once. */
export function connect(options: ConnectionOptions) {
  const { url: baseUrl = "", apiKey } = { ...defaults, ...options };
  if (!/^https?:\/\/./.test(baseUrl)) throw new TypeError("url (SKILLET_URL): it must begin with http:// or https://");
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
  // An approval is resolved once, however often.
  const isOnce = headers.has("idempotency-key") || url.includes("/v1/approvals/");
  return isOnce || ["GET", "HEAD", "PUT", "DELETE"].includes(method);
}
