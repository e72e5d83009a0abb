/** A proxy before the service that damages answers. */

import http from "node:http";
import type { AddressInfo } from "node:net";
import { url } from "./service.js";

/** What happens to an answer. */
export type Fault =
  /** The body ends after that many bytes: as if it were complete, with a reset, or with silence. */
  | { kind: "close" | "reset" | "silence"; after: number }
  /** The service does what was asked, and the connection is reset before its answer. */
  | { kind: "lost" }
  /** The proxy answers itself. */
  | { kind: "answer"; status: number; headers?: Record<string, string>; body?: string }
  /** The answer is changed. */
  | { kind: "edit"; edit: (text: string) => string };

/**
 * Chooses the fault of a request. `count` is its number among those with its method and path, from 1. `number` is N
 * where the client's URL ends with `/N`, which the service does not see.
 */
export type Plan = (request: { method: string; path: string; count: number; number: number }) => Fault | undefined;

export interface Proxy {
  url: string;
  /** The requests that came: method, path and `Last-Event-ID`. */
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
    // Another request would meet the end of this connection.
    response.writeHead(answer.statusCode ?? 502, { ...answer.headers, connection: "close" });
    response.flushHeaders();
    if (fault === undefined) answer.pipe(response);
    else if (fault.kind === "edit") edit(answer, response, fault.edit);
    else cut(answer, response, fault);
  });
}

/** Passes the first bytes on, and ends. */
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
    // What was written before arrives first.
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

/** Replaces the whole answer, when it is there. */
function edit(answer: http.IncomingMessage, response: http.ServerResponse, change: (text: string) => string): void {
  const chunks: Buffer[] = [];
  answer.on("data", (chunk: Buffer) => chunks.push(chunk));
  answer.on("end", () => response.end(change(Buffer.concat(chunks).toString())));
}
