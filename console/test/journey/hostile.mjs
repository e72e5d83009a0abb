// Tests of hostile content in titles, output, Markdown, file names, tables, SVG images and pages.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api, createJob, ended, launch, script, signIn, url } from "../browser.mjs";

/** A page that tries to escape from its frame and shows the result of each attempt. */
const ESCAPES = `<!doctype html><pre id=result></pre><script>
const found = {};
const attempt = (name, act) => {
  try { found[name] = String(act()); } catch (error) { found[name] = error.name; }
};
attempt("cookie", () => document.cookie);
attempt("storage", () => localStorage.length);
attempt("parent", () => parent.document.title);
attempt("top", () => (top.location.href = "https://example.com/top"));
attempt("popup", () => open("https://example.com/popup"));
const image = new Image();
image.src = "https://example.com/image";
fetch("/v1/me").then(() => "answered", () => "refused").then((it) => {
  found.fetch = it;
  document.getElementById("result").textContent = JSON.stringify(found);
  setTimeout(() => (location.href = "https://example.com/self"), 1000);
});
</script>`;
const DRAWING = `<svg xmlns="http://www.w3.org/2000/svg" width="90" height="90" onload="parent.document.title='owned'">
<image href="https://example.com/pixel.png"/><script>fetch("https://example.com/svg")</script><circle r="40"/></svg>`;
const TABLE = `name,note\n<img src=x onerror="document.title='owned'">,"=HYPERLINK(""https://example.com"")"\n`;

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("hostile content is shown as text", async () => {
  const attack = [
    `<img src=x onerror="document.title='owned'">`,
    `<script>document.title='owned'</script>`,
    `[click](javascript:document.title='owned')`,
    `![x](https://example.com/pixel.png)`,
    `<svg onload="document.title='owned'">`,
    `\u202Egpj.exe`,
  ];
  const title = `<img src=x onerror="document.title='owned'">`;
  const commands = `cat <<'END'\n${attack.join("\n\n")}\nEND\nprintf '\\033]0;owned\\007\\033[2J'`;
  const { id } = await createJob(title, commands, { metadata: { "<b>key</b>": "<i>value</i>" } });
  await ended(id);
  const { context, page, faults } = await signIn(browser);
  const requests = [];
  page.on("request", (request) => requests.push(request.url()));
  for (const view of ["transcript", "timeline", "request", "log"]) {
    await page.goto(`${url}/console/jobs/${id}?view=${view}`);
    await page.getByRole("heading", { name: "<img src=x" }).waitFor();
    for (const call of await page.locator(".call-head").all()) await call.click();
    assert.equal(await page.locator("main img, main script, main a[href^=javascript]").count(), 0);
  }
  await page.goto(`${url}/console/jobs`);
  await page.getByText("<img src=x").first().waitFor();
  assert.ok(!(await page.title()).startsWith("owned"));
  assert.deepEqual(
    requests.filter((it) => !it.startsWith(url)),
    [],
  );
  assert.deepEqual(faults, []);
  await context.close();
});

test("hostile files have no access to the console or the network", async () => {
  const name = `<img src=x onerror=alert(1)>.csv`;
  const write = (path, text) => `cat > '${path}' <<'END'\n${text}\nEND`;
  const commands = [write("escape.html", ESCAPES), write("drawing.svg", DRAWING), write(name, TABLE)].join("\n");
  const outputs = ["escape.html", "drawing.svg", name].map((path) => `output: ${path}`).join("\n");
  const { id } = await api("POST", "/v1/jobs", {
    skill: "shell",
    model: "script/bash",
    title: "Files that attack",
    prompt: script(commands, outputs),
  });
  const { outputs: made } = await ended(id);
  assert.deepEqual(
    made.map(({ asset }) => asset.content_type),
    ["text/html", "image/svg+xml", "text/csv"],
  );
  const { context, page, faults } = await signIn(browser);
  const left = [];
  await context.route(
    (address) => address.origin !== url,
    (route) => {
      left.push(route.request().url());
      return route.abort();
    },
  );
  await page.goto(`${url}/console/jobs/${id}`);
  const list = page.locator(".output-list button");
  await list.nth(0).click();
  const result = page.frameLocator("iframe").locator("#result");
  await result.filter({ hasText: "fetch" }).waitFor();
  assert.deepEqual(JSON.parse(await result.textContent()), {
    cookie: "SecurityError",
    storage: "SecurityError",
    parent: "SecurityError",
    top: "SecurityError",
    popup: "null",
    fetch: "refused",
  });
  // The page navigates to another page. The CSP of the console blocks this.
  await result.waitFor({ state: "detached" });
  await list.nth(1).click();
  await page.frameLocator("iframe").locator("circle").waitFor();
  await list.nth(2).click();
  await page.locator(".preview td", { hasText: "onerror" }).waitFor();
  assert.equal(await page.locator("main img, main script, main [onerror]").count(), 0);
  assert.equal(await page.title(), "Files that attack · Skillet");
  assert.deepEqual(left, []);
  // The only faults are the blocked actions of the frame.
  const isRefusal = /blocked|refused|sandbox|content security policy|^(connect|img|frame)-src: |^Failed to fetch$/i;
  assert.deepEqual(
    faults.filter((text) => !isRefusal.test(text)),
    [],
  );
  await context.close();
});
