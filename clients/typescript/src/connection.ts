/** A service, the key for it, and how requests are sent. */

import createClient, { type Client } from "openapi-fetch";
import { defaults } from "#platform";
import { DEFAULT_TIMING, type Timing, withRetries } from "./retry.js";
import type { paths } from "./schema.js";

type Send = (request: Request) => Promise<Response>;

export interface ConnectionOptions {
  /** The address of the service; `SKILLET_URL`, or in a browser the page's origin, if not given. */
  url?: string;
  /** The key; `SKILLET_API_KEY`, or in a browser the session, if not given. */
  apiKey?: string;
  /** In place of the global `fetch`. */
  fetch?: Send;
  timing?: Partial<Timing>;
}

export interface Connection {
  /** All operations of the service. Requests that can be repeated without harm are. */
  api: Client<paths>;
  timing: Timing;
  /** Sends a request once. */
  send: Send;
  /** Sends a request that can be repeated without harm, although it is a POST. */
  sendRepeatable: Send;
}

export function connect(options: ConnectionOptions): Connection {
  const { url: baseUrl = "", apiKey } = { ...defaults, ...options };
  if (!/^https?:\/\/./.test(baseUrl)) throw new TypeError("url (SKILLET_URL): it must begin with http:// or https://");
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const send = options.fetch ?? ((request) => fetch(request));
  const repeat = async (request: Request, isRepeatable: boolean) => {
    const attempt = async () => ({ response: await send(request.clone()) });
    return (await withRetries(attempt, isRepeatable, timing, request.signal)).response;
  };
  const isRepeatable = ({ method, headers }: Request) =>
    ["GET", "HEAD", "PUT", "DELETE"].includes(method) || headers.has("idempotency-key");
  const api = createClient<paths>({
    baseUrl,
    headers: apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` },
    fetch: (request) => repeat(request, isRepeatable(request)),
  });
  return { api, timing, send, sendRepeatable: (request) => repeat(request, true) };
}
