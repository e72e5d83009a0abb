/** A proxy in front of the service that damages responses. */

import http from "node:http";
import type { AddressInfo } from "node:net";
import { url } from "./service.js";

/** A fault in a response. */
export type Fault =
  /** The body ends after this number of bytes: with a normal close, with a reset, or with silence. */
  | { kind: "close" | "reset" | "silence"; after: number }
  /** The service executes the request, and the connection is reset before the response. */
  | { kind: "lost" }
  /** The proxy responds itself. */
  | { kind: "answer"; status: number; headers?: Record<string, string>; body?: string }
  /** The proxy edits the response. */
  | { kind: "edit"; edit: (text: string) => string };

/**
 * Returns the fault for a request. `count` is the number of requests with its method and path, including this one.
 * `number` is N if the client's URL ends with `/N`. The proxy removes this suffix.
 */
export type Plan = (request: { method: string; path: string; count: number; number: number }) => Fault | undefined;

export interface Proxy {
  url: string;
  /** The received requests: method, path and `Last-Event-ID`. */
  requests: string[];
  close: () => void;
}

export async function startProxy(plan: Plan): Promise<Proxy> {
  const requests: string[] = [];
  const counts = new Map<string, number>();
  const server = http.createServer((request, response) => {
    const { method = "", url: path = "" } = request;
    const lastId = request.headers["last-event-id"];
    requests.push([method, path, ...(lastId === undefined ? [] : [lastId])].join(" "));
    const count = (counts.get(method + path) ?? 0) + 1;
    counts.set(method + path, count);
    const [, number = "", rest = ""] = /^(?:\/(\d+))?(.*)$/.exec(path) ?? [];
    const fault = plan({ method, path, count, number: Number(number) });
    if (fault?.kind === "answer") {
      request.resume();
      response.writeHead(fault.status, fault.headers).end(fault.body);
    } else {
      forward(request, response, rest, fault);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => (server.closeAllConnections(), void server.close());
  return { url: `http://127.0.0.1:${port}`, requests, close };
}

type Forwarded = Exclude<Fault, { kind: "answer" }>;

function forward(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  path: string,
  fault: Forwarded | undefined,
): void {
  const { method = "GET", headers } = request;
  const upstream = http.request(new URL(path, url), { method, headers, agent: false });
  request.pipe(upstream);
  upstream.on("error", () => response.destroy());
  response.on("close", () => upstream.destroy());
  upstream.on("response", (answer) => {
    answer.on("error", () => response.destroy());
    if (fault?.kind === "lost") return void response.socket?.resetAndDestroy();
    // Otherwise another request could reuse this connection while it is being closed.
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: "close" });
    response.flushHeaders();
    if (fault === undefined) answer.pipe(response);
    else if (fault.kind === "edit") edit(answer, response, fault.edit);
    else cut(answer, response, fault);
  });
}

/** Forwards the first bytes and ends the response. */
function cut(
  answer: http.IncomingMessage,
  response: http.ServerResponse,
  { kind, after }: { kind: "close" | "reset" | "silence"; after: number },
): void {
  let left = after;
  const end = () => {
    answer.destroy();
    const { socket } = response;
    if (kind === "close") response.end(() => socket?.end());
    // The bytes written before must arrive first.
    else if (kind === "reset") setImmediate(() => response.socket?.resetAndDestroy());
  };
  if (left === 0) return end();
  answer.on("data", (chunk: Buffer) => {
    if (left === 0) return;
    const part = chunk.subarray(0, left);
    left -= part.length;
    response.write(part, () => left === 0 && end());
  });
  answer.on("end", () => left > 0 && response.end());
}

/** Edits the whole response body, once it is complete. */
function edit(answer: http.IncomingMessage, response: http.ServerResponse, change: (text: string) => string): void {
  const chunks: Buffer[] = [];
  answer.on("data", (chunk: Buffer) => chunks.push(chunk));
  answer.on("end", () => response.end(change(Buffer.concat(chunks).toString())));
}
