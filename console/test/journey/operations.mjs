// Tests of the pages for administrators.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api, createJob, launch, signIn, url } from "../browser.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("a queued job shows that the queue is paused, and runs when the queue is resumed", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/queue`);
  await page.getByRole("button", { name: "Pause the queue" }).click();
  await page.getByText("The queue is paused.").waitFor();
  try {
    const job = await createJob("Held back", "echo free");
    await page.goto(`${url}/console/jobs/${job.id}`);
    await page.getByText("The queue is paused.").waitFor();
    await page.getByRole("link", { name: "Queue", exact: true }).last().click();
    await page.getByRole("button", { name: "Resume the queue" }).click();
    await page.getByText("The queue is paused.").waitFor({ state: "detached" });
    await page.goto(`${url}/console/jobs/${job.id}`);
    await page.getByText("Completed after").waitFor();
  } finally {
    await api("POST", "/v1/queue/resume");
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("the limits of a tenant are changed", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/tenants`);
  const tenant = `journey ${Date.now()}`;
  await page.getByLabel("Name").fill(tenant);
  await page.getByRole("button", { name: "Create" }).click();
  const row = page.getByRole("row", { name: tenant });
  await row.getByRole("button", { name: "Edit" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Running jobs").fill("3");
  await dialog.getByLabel("Cost per month in dollars").fill("25");
  await dialog.getByRole("button", { name: "Save" }).click();
  await row.getByText("of $25.00").waitFor();
  const { data } = await api("GET", "/v1/tenants?limit=100");
  assert.equal(data.find(({ name }) => name === tenant).max_running, 3);
  assert.deepEqual(faults, []);
  await context.close();
});

test("a key without the scope admin sees no operations", async () => {
  const { token } = await api("POST", "/v1/keys", { name: "plain", scopes: ["jobs"] });
  const { context, page } = await signIn(browser, { as: token });
  assert.equal(await page.getByRole("link", { name: "Queue", exact: true }).count(), 0);
  assert.equal(await page.getByRole("link", { name: /^Approvals/ }).count(), 1);
  await context.close();
});
