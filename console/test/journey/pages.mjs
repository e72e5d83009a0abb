// Tests of every page, light and dark: accessibility, CSP violations and errors.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { AxeBuilder } from "@axe-core/playwright";
import { api, createJob, ended, launch, script, signIn, url } from "../browser.mjs";

const PAGES = ["jobs", "new?skill=git", "approvals", "conversations", "schedules", "schedules/new", "agents"];
const MORE_PAGES = [
  "agents/new",
  "skills",
  "skills/git",
  "secrets",
  "webhooks",
  "usage",
  "queue",
  "workers",
  "tenants",
  "keys",
  "nowhere",
];

let browser;
let job;

before(async () => {
  browser = await launch();
  await api("PUT", "/v1/agents/shown", { soul: "You are shown.", tools: ["shell.exec"], model: "script/bash" });
  const prompt = script("echo hello; printf 'a,b\\n1,2\\n' > table.csv; ls /none", "output: table.csv");
  job = await api("POST", "/v1/jobs", { skill: "shell", model: "script/bash", prompt });
  const asks = await createJob("Asks first", "true", { hooks: { confirm: ["shell.exec"] } });
  await Promise.all([job, asks].map(({ id }) => ended(id)));
});
after(() => browser.close());

for (const colorScheme of ["light", "dark"]) {
  test(`every page is accessible and has no errors: ${colorScheme}`, async () => {
    const { context, page, faults } = await signIn(browser, { colorScheme });
    const { id } = await api("POST", "/v1/conversations", { agent: "shown" });
    const views = ["", "?view=timeline", "?view=request", "?view=log"].map((view) => `jobs/${job.id}${view}`);
    const found = [];
    for (const path of [...PAGES, ...MORE_PAGES, ...views, "agents/shown", `conversations/${id}`]) {
      await page.goto(`${url}/console/${path}`);
      await page.locator("main h1").first().waitFor();
      await page.locator(".skeleton").first().waitFor({ state: "detached" });
      const { violations } = await new AxeBuilder({ page }).analyze();
      found.push(...violations.map((it) => `${path}: ${it.id}: ${it.nodes[0].html}`));
    }
    assert.deepEqual(found, []);
    assert.deepEqual(faults, []);
    await context.close();
  });
}

test("no page is wider than a narrow screen", async () => {
  const { context, page } = await signIn(browser, { viewport: { width: 390, height: 844 } });
  for (const path of [...PAGES, ...MORE_PAGES, `jobs/${job.id}`, `jobs/${job.id}?view=log`]) {
    await page.goto(`${url}/console/${path}`);
    await page.locator("main h1").first().waitFor();
    await page.locator(".skeleton").first().waitFor({ state: "detached" });
    const excess = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(excess <= 0, `${path} is ${excess} px too wide`);
  }
  await context.close();
});
