/** A service, the key for it, and how requests are sent. */

import createClient, { type Client } from "openapi-fetch";
import { DEFAULT_TIMING, type Timing, withRetries } from "./retry.js";
import type { paths } from "./schema.js";

type Send = (request: Request) => Promise<Response>;

export interface ConnectionOptions {
  /** The address of the service, such as `http://127.0.0.1:8420`. */
  url: string;
  /** Without a key, a browser uses its session. */
  apiKey?: string | undefined;
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
  if (!/^https?:\/\/./.test(options.url)) throw new TypeError("url: it must begin with http:// or https://");
  const timing = { ...DEFAULT_TIMING, ...options.timing };
  const send = options.fetch ?? ((request) => fetch(request));
  const repeat = async (request: Request, isRepeatable: boolean) => {
    const attempt = async () => ({ response: await send(request.clone()) });
    return (await withRetries(attempt, isRepeatable, timing, request.signal)).response;
  };
  const isRepeatable = ({ method, headers }: Request) =>
    ["GET", "HEAD", "PUT", "DELETE"].includes(method) || headers.has("idempotency-key");
  const api = createClient<paths>({
    baseUrl: options.url,
    headers: options.apiKey === undefined ? {} : { authorization: `Bearer ${options.apiKey}` },
    fetch: (request) => repeat(request, isRepeatable(request)),
  });
  return { api, timing, send, sendRepeatable: (request) => repeat(request, true) };
}
