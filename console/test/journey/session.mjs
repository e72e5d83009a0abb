// Tests of signing in and out.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api, key, launch, open, signIn, url } from "../browser.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("a first visit asks for a key, and a wrong key is rejected with a reason", async () => {
  const { context, newPage } = await open(browser);
  const page = await newPage();
  await page.goto(`${url}/`);
  await page.waitForURL("**/console/");
  await page.fill("input[type=password]", "sk_wrong");
  await page.click("form button");
  await page.getByRole("alert").getByText("not known to the service").waitFor();
  assert.equal(await page.locator(".sidebar").count(), 0);
  await page.fill("input[type=password]", key);
  await page.click("form button");
  await page.getByRole("heading", { name: "Jobs" }).waitFor();
  const stored = await page.evaluate(() =>
    JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie]),
  );
  assert.ok(!stored.includes(key), stored);
  await context.close();
});

test("a code signs in once and is removed from the address", async () => {
  const { code } = await api("POST", "/v1/session/codes");
  const first = await open(browser);
  const page = await first.newPage();
  await page.goto(`${url}/console/agents#code=${code}`);
  await page.getByRole("heading", { name: "Agents" }).waitFor();
  assert.equal(page.url(), `${url}/console/agents`);
  const second = await open(browser);
  const late = await second.newPage();
  await late.goto(`${url}/console/#code=${code}`);
  await late.getByRole("alert").getByText("skillet open").waitFor();
  assert.deepEqual(first.faults, []);
  await Promise.all([first.context.close(), second.context.close()]);
});

test("revoking the key of the session signs out", async () => {
  const { token } = await api("POST", "/v1/keys", { name: "mine", scopes: ["jobs", "admin"] });
  const { context, newPage, faults } = await open(browser);
  const page = await newPage();
  await page.goto(`${url}/console/keys`);
  await page.fill("input[type=password]", token);
  await page.click("form button");
  const row = page.getByRole("row", { name: /^mine / });
  await row.getByRole("button", { name: "Revoke…" }).click();
  await page.getByText("You are signed in with this key").waitFor();
  await page.getByRole("button", { name: "Revoke", exact: true }).click();
  await page.getByRole("heading", { name: "Sign in to Skillet" }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("signing out ends the session", async () => {
  const { context, page } = await signIn(browser);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByRole("heading", { name: "Sign in to Skillet" }).waitFor();
  await page.goto(`${url}/console/jobs`);
  await page.getByRole("heading", { name: "Sign in to Skillet" }).waitFor();
  await context.close();
});
