// Tests of lost connections and of many tabs.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createJob, launch, signIn, url } from "../browser.mjs";
import { startProxy } from "../proxy.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("no output is lost when the service is unavailable during a job", async () => {
  const proxy = await startProxy();
  const { context, page } = await signIn(browser, { at: proxy.url });
  const job = await createJob("Survive", "for i in $(seq 12); do echo line $i; sleep 1; done");
  await page.goto(`${proxy.url}/console/jobs/${job.id}`);
  await page.getByText("line 2").first().waitFor();
  proxy.cut();
  await page.getByRole("alert").getByText("has not responded for").waitFor();
  proxy.restore();
  await page.getByText("Completed after").waitFor();
  await page.getByRole("alert").waitFor({ state: "detached" });
  await page.locator(".call-head").click();
  const output = await page.locator(".call-body .terminal").innerText();
  const expected = Array.from({ length: 12 }, (_, index) => `line ${index + 1}`).join("\n");
  assert.ok(output.includes(expected), output);
  await context.close();
  proxy.stop();
});

test("the list of jobs loads in the last of eight tabs, which share one stream", async () => {
  const { context, page, newPage, faults } = await signIn(browser);
  const streams = new Set();
  context.on("request", (request) => request.url().includes("/events/stream") && streams.add(request));
  context.on("requestfinished", (request) => streams.delete(request));
  context.on("requestfailed", (request) => streams.delete(request));
  const pages = [page];
  for (let number = 2; number <= 8; number++) {
    const tab = await newPage();
    await tab.goto(`${url}/console/jobs`);
    await tab.getByRole("heading", { name: "Jobs" }).waitFor();
    pages.push(tab);
  }
  await createJob("Seen in eight tabs", "true");
  for (const tab of pages) {
    const bar = tab.getByRole("button", { name: /^Show .* new job/ });
    await bar.or(tab.getByText("Seen in eight tabs")).first().waitFor();
  }
  // The first page may have opened its stream before the count started.
  assert.ok(streams.size <= 1, `${streams.size} more streams are open`);
  assert.deepEqual(faults, []);
  await context.close();
});
