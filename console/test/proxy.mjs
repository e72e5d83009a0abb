/** A proxy before the service that can cut all connections, as a service does that is killed. */

import { createServer, connect } from "node:net";
import { url } from "./browser.mjs";

/** Begins to listen. While it is cut, connections are refused. */
export async function startProxy() {
  const { hostname, port } = new URL(url);
  const sockets = new Set();
  const add = (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    // A connection that is cut has nothing to tell.
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
