/** A server in front of the service. It generates the event stream of one job and forwards other requests. */

import { createServer, request } from "node:http";
import { url } from "./browser.mjs";

/** Starts the server. For each stream request, it calls `send` with a function that writes one event. */
export async function startStreamServer(job, send) {
  const { hostname, port } = new URL(url);
  const server = createServer((asked, answer) => {
    if (asked.url.startsWith(`/v1/jobs/${job}/stream`)) {
      answer.writeHead(200, { "content-type": "text/event-stream" });
      void send((event) => {
        answer.write(`id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
      });
      return;
    }
    const { method, headers } = asked;
    const upstream = request({ hostname, port, path: asked.url, method, headers }, (reply) => {
      answer.writeHead(reply.statusCode, reply.headers);
      reply.pipe(answer);
    });
    upstream.on("error", () => answer.destroy());
    answer.on("close", () => upstream.destroy());
    asked.pipe(upstream);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
