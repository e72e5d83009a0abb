// Tests of skills, agents, schedules, conversations, secrets and webhooks.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { api, createJob, launch, script, signIn, url } from "../browser.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Returns a TAR archive with one file. */
function tar(name, text) {
  const content = Buffer.from(text);
  const header = Buffer.alloc(512);
  header.write(name, 0);
  header.write("0000644\0", 100);
  header.write(`${content.length.toString(8).padStart(11, "0")}\0`, 124);
  header.write("00000000000\0", 136);
  header.write("        0", 148);
  header.write("ustar\x0000", 257);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148);
  const padding = Buffer.alloc((512 - (content.length % 512)) % 512);
  return gzipSync(Buffer.concat([header, content, padding, Buffer.alloc(1024)]));
}

test("a skill is uploaded, read, run and deleted", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/skills`);
  const text = "---\nname: greet\ndescription: Greets a person.\n---\nSay **hello** to them.\n";
  const archive = { name: "greet.tar.gz", mimeType: "application/gzip", buffer: tar("greet/SKILL.md", text) };
  await page.locator("input[type=file]").setInputFiles(archive);
  await page.getByRole("link", { name: "greet", exact: true }).click();
  await page.locator(".markdown strong", { hasText: "hello" }).waitFor();
  await page.getByRole("link", { name: "Run a job" }).click();
  await page.getByLabel("Skill or agent").waitFor();
  assert.equal(await page.getByLabel("Skill or agent").inputValue(), "skill:greet");
  await page.goBack();
  await page.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.waitForURL("**/console/skills");
  await page.getByRole("link", { name: "greet", exact: true }).waitFor({ state: "detached" });
  assert.deepEqual(faults, []);
  await context.close();
});

test("a conversation continues, and its messages are shown", async () => {
  await api("PUT", "/v1/agents/talker", { soul: "You talk.", tools: ["shell.exec"], model: "script/bash" });
  const conversation = await api("POST", "/v1/conversations", { agent: "talker" });
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/conversations/${conversation.id}`);
  for (const [index, word] of ["one", "two"].entries()) {
    await page.getByLabel("Message").fill(script(`echo said $(echo ${word})`));
    await page.getByLabel("Message").press("Control+Enter");
    await page.getByText("Tool output").nth(index).click();
    await page.getByText(`said ${word}`, { exact: true }).first().waitFor();
  }
  assert.deepEqual(faults, []);
  await context.close();
});

test("an agent is changed, and its versions are compared", async () => {
  await api("PUT", "/v1/agents/changing", { soul: "You are brief.", tools: ["shell.exec"] });
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/agents/changing`);
  await page.getByLabel("Soul").fill("You are thorough.");
  await page.getByRole("button", { name: "Save a new version" }).click();
  await page.getByRole("link", { name: "Changes" }).click();
  await page.locator("del", { hasText: "You are brief." }).waitFor();
  await page.locator("ins", { hasText: "You are thorough." }).waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a schedule shows its times before it is saved, runs now, and is paused", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/schedules`);
  await page.getByRole("link", { name: "New schedule" }).first().click();
  await page.getByLabel("Name").fill(`Each new year ${Date.now()}`);
  await page.getByLabel("Cron pattern").fill("0 9 1 1 *");
  await page.getByLabel("Time zone").fill("UTC");
  await page.locator(".times li").nth(4).waitFor();
  await page.getByLabel("Prompt", { exact: true }).fill(script("echo scheduled"));
  await page.getByLabel("Model", { exact: true }).fill("script/bash");
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByText("No runs yet.").waitFor();
  await page.getByRole("button", { name: "Run now" }).click();
  await page.getByRole("row", { name: /completed/i }).waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("None while paused.").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a secret is set and deleted, and its value is never shown", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/secrets`);
  await page.getByLabel("Name").fill("JOURNEY_TOKEN");
  await page.getByLabel("Value").fill("correct horse");
  await page.getByRole("button", { name: "Save" }).click();
  const row = page.getByRole("row", { name: /JOURNEY_TOKEN/ });
  await row.waitFor();
  assert.ok(!(await page.content()).includes("correct horse"));
  await row.getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await row.waitFor({ state: "detached" });
  assert.deepEqual(faults, []);
  await context.close();
});

test("a webhook is created and shows its secret once, and a test shows why its delivery failed", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/webhooks`);
  await page.getByRole("button", { name: "New webhook" }).first().click();
  // A host name that cannot exist.
  const address = `https://hooks.invalid/${Date.now()}`;
  await page.getByLabel("URL").fill(address);
  await page.getByRole("button", { name: "Create" }).click();
  await page.getByRole("dialog").getByText("whsec_").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: address }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  const delivery = page.locator(".deliveries .call").first();
  await delivery.getByText("1 attempt").waitFor();
  await delivery.locator("summary").click();
  await delivery.getByText("cannot be reached").last().waitFor();
  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByRole("heading", { name: address }).getByText("paused").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a disabled webhook shows the reason, and redelivers failed events when it is resumed", async () => {
  let status = 410;
  const received = [];
  const receiver = createServer((request, response) => {
    received.push(request.headers["webhook-id"]);
    response.writeHead(status).end();
  });
  await new Promise((listening) => receiver.listen(0, "127.0.0.1", listening));
  const address = `http://127.0.0.1:${receiver.address().port}/hook`;
  const { id } = await api("POST", "/v1/webhooks", { url: address, events: ["job.completed"] });
  await createJob("Missed", "true");
  while ((await api("GET", `/v1/webhooks/${id}`)).status !== "disabled") await sleep(100);
  status = 204;
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/webhooks`);
  await page.getByRole("link", { name: "Webhooks 1" }).waitFor();
  await page.getByRole("row", { name: address }).getByText("disabled: gone").waitFor();
  await page.getByRole("link", { name: address }).click();
  await page.getByText("The receiver responded with 410 Gone.").waitFor();
  await page.getByRole("button", { name: "Resume and redeliver" }).click();
  await page.locator(".deliveries .call").getByText("delivered").waitFor();
  await page.getByRole("heading", { name: address }).getByText("active").waitFor();
  assert.deepEqual(received, [received[0], received[0]]);
  assert.deepEqual(faults, []);
  await context.close();
  await api("DELETE", `/v1/webhooks/${id}`);
  receiver.close();
});
