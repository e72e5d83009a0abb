/** The client in a web page. */

import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import http from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { apiKey, ROOT, scenario, url } from "./service.js";

const IMPORTS = {
  "skillet-client": "/dist/index.js",
  "#platform": "/dist/platform.browser.js",
  "eventsource-parser": "/node_modules/eventsource-parser/dist/index.js",
  "openapi-fetch": "/node_modules/openapi-fetch/dist/index.mjs",
};

/** The program of the page, which has the same origin as the service. */
const PROGRAM = `
import { Client } from "skillet-client";
const { apiKey, report } = await (await fetch("/parameters")).json();
const told = [];
try {
  const skillet = new Client({ url: location.origin, apiKey });
  const file = new File(["rye,3\\n".repeat(500_000)], "prices.csv");
  let last;
  const asset = await skillet.upload(file, { onProgress: (progress) => (last = progress) });
  told.push(["uploaded", asset.size, last.sent, last.total]);
  const inputs = [{ name: "prices.csv", data: btoa("rye,3\\n") }];
  const job = await skillet.run({ ...report, inputs }, { onEvent: async (event) => {
    if (event.type === "approval.requested") told.push((await skillet.approve(event.data.approval_id)).status);
  } });
  told.push(job.status, await (await skillet.download(job.outputs[0].asset)).text());
  await skillet.upload("/etc/passwd").catch((error) => told.push(error.message));
  await new Client({ url: location.origin, apiKey: "wrong" }).upload(file, { onProgress: () => {} })
    .catch((error) => told.push(error.status));
} catch (error) {
  told.push(String(error));
}
await fetch("/told", { method: "POST", body: JSON.stringify(told) });
`;
const PAGE = `<!doctype html><script type="importmap">${JSON.stringify({ imports: IMPORTS })}</script>
<script type="module">${PROGRAM}</script>`;

const browser = (process.env.PATH ?? "")
  .split(delimiter)
  .flatMap((folder) => ["chromium", "chromium-browser", "google-chrome"].map((name) => join(folder, name)))
  .find(existsSync);
const isRequired = process.env.SKILLET_TEST_REQUIRE === "all";

test(
  "a page uploads, follows, approves and downloads",
  { skip: !browser && !isRequired && "no Chromium" },
  async () => {
    let tell: (told: unknown) => void;
    const told = new Promise((resolve) => (tell = resolve));
    const server = http.createServer((request, response) => void serve(request, response, (text) => tell(text)));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    const profile = await mkdtemp(join(tmpdir(), "skillet-"));
    const chromium = start(browser ?? "chromium", profile, `http://127.0.0.1:${port}/`);
    try {
      const ended = new Promise((_, reject) => chromium.on("exit", (code) => reject(new Error(`Chromium: ${code}`))));
      assert.deepEqual(await Promise.race([told, ended]), [
        ["uploaded", 3_000_000, 3_000_000, 3_000_000],
        "approved",
        "completed",
        "<!doctype html><h1>Prices</h1><pre>\nrye,3\n</pre>\n",
        "a path works only in Node.js: pass a File",
        401,
      ]);
    } finally {
      chromium.kill("SIGKILL");
      server.closeAllConnections();
      server.close();
      await rm(profile, { recursive: true, force: true, maxRetries: 10 });
    }
  },
);

function start(program: string, profile: string, address: string): ChildProcess {
  const flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", `--user-data-dir=${profile}`];
  return spawn(program, [...flags, address], { stdio: "ignore" });
}

/** Serves the page and the client's files, and forwards API requests to the service. */
async function serve(
  request: http.IncomingMessage,
  response: http.ServerResponse,
  tell: (told: unknown) => void,
): Promise<void> {
  const { url: path = "/", method = "GET", headers } = request;
  if (path.startsWith("/v1/")) {
    const upstream = http.request(new URL(path, url), { method, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    upstream.on("error", () => response.destroy());
    request.pipe(upstream);
  } else if (path === "/") {
    response.writeHead(200, { "content-type": "text/html" }).end(PAGE);
  } else if (path === "/parameters") {
    response.end(JSON.stringify({ apiKey, report: scenario.report }));
  } else if (path === "/told") {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    response.end();
    tell(JSON.parse(Buffer.concat(chunks).toString()));
  } else if (Object.values(IMPORTS).includes(path) || /^\/dist\/\w+\.js$/.test(path)) {
    response.writeHead(200, { "content-type": "text/javascript" }).end(await readFile(new URL(`.${path}`, ROOT)));
  } else {
    response.writeHead(404).end();
  }
}
