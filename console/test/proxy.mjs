/** A proxy in front of the service that can cut all connections, as if the service were killed. */

import { createServer, connect } from "node:net";
import { url } from "./browser.mjs";

/** Starts the proxy. While it is cut, it closes new connections. */
export async function startProxy() {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  const add = (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // Errors of cut connections are expected.
    socket.on("error", () => {});
  };
  let isCut = false;
  let opened = 0;
  const server = createServer((client) => {
    add(client);
    if (isCut) return client.destroy();
    opened++;
    const upstream = connect(Number(port), hostname);
    add(upstream);
    client.pipe(upstream).pipe(client);
    client.on("close", () => upstream.destroy());
    upstream.on("close", () => client.destroy());
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    opened: () => opened,
    cut: () => {
      isCut = true;
      for (const socket of sockets) socket.destroy();
    },
    restore: () => void (isCut = false),
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
}
