// Tests of a new job up to its result, and of the job list.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { api, createJob, ended, launch, script, signIn, url } from "../browser.mjs";

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

test("a new job creates a page, which is shown in a sandbox", async () => {
  const { context, page, faults } = await signIn(browser);
  await page.getByRole("link", { name: "New job" }).click();
  await page.getByLabel("Skill or agent").selectOption("skill:html");
  const commands = "echo '<!doctype html><h1>Made here</h1><script>document.title = parent.origin</script>' > a.html";
  await page.getByLabel("Prompt", { exact: true }).fill(script(commands, "output html: a.html"));
  await page.getByLabel("Model", { exact: true }).fill("script/bash");
  await page
    .locator("input[type=file]")
    .setInputFiles({ name: "notes.txt", mimeType: "text/plain", buffer: Buffer.from("hello") });
  await page.getByText("5 B").waitFor();
  await page.getByRole("button", { name: "Run", exact: true }).click();
  await page.getByText("Completed after").waitFor();
  await page.frameLocator("iframe").getByText("Made here").waitFor();
  const frame = page.locator("iframe");
  assert.equal(await frame.getAttribute("sandbox"), "allow-scripts");
  await page.getByRole("link", { name: "Request" }).click();
  await page.getByText("notes.txt").waitFor();
  // The script of the frame may not read its parent, which causes a console error.
  assert.deepEqual(
    faults.filter((text) => !text.includes("Blocked a frame with origin")),
    [],
  );
  await context.close();
});

test("a transcript shows output while it is printed", async () => {
  const job = await createJob("Print slowly", "echo first; while [ ! -e /tmp/none ]; do sleep 0.2; echo more; done");
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/jobs/${job.id}`);
  await page.getByText("more\nmore").first().waitFor();
  await page.getByText("Live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Cancel" }).click();
  await page.getByText("Cancelled after").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("a call is approved in the transcript, and the job continues", async () => {
  const job = await createJob("Wait for me", "echo allowed", { hooks: { confirm: ["shell.exec"] } });
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/jobs/${job.id}`);
  await page.getByRole("button", { name: "Approve", exact: true }).click();
  await page.getByText("Completed after").waitFor();
  assert.equal((await api("GET", `/v1/jobs/${job.id}`)).status, "completed");
  assert.deepEqual(faults, []);
  await context.close();
});

test("the list updates without a reload", async () => {
  const { context, page, faults } = await signIn(browser);
  const title = `Follow the list ${Date.now()}`;
  const job = await createJob(title, "echo done", { hooks: { confirm: ["shell.exec"] } });
  // New jobs are hidden behind a bar, so that rows do not move unexpectedly.
  const bar = page.getByRole("button", { name: /^Show .* new job/ });
  const row = page.getByRole("row", { name: title });
  await bar.or(row).first().waitFor();
  if (await bar.count()) await bar.click();
  await row.getByText("waiting").waitFor();
  const { data } = await api("GET", `/v1/jobs/${job.id}/approvals`);
  await api("POST", `/v1/approvals/${data[0].id}`, { decision: "approve" });
  await row.getByText("completed").waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("filters are in the address, which can be shared, and back restores them", async () => {
  await createJob("For finance", "true", { metadata: { team: "finance" } });
  const { context, page, faults, newPage } = await signIn(browser);
  await page.getByLabel("Metadata or external id").fill("team=finance");
  await page.keyboard.press("Enter");
  await page.waitForURL("**/jobs?metadata.team=finance");
  await page.getByText("For finance").first().waitFor();
  assert.ok(!(await page.locator("tbody").innerText()).includes("Wait for me"));
  const shared = await newPage();
  await shared.goto(page.url());
  await shared.getByText("For finance").first().waitFor();
  await page.getByRole("link", { name: /^Failed/ }).click();
  await page.getByText("No job matches these filters").waitFor();
  await page.goBack();
  await page.getByText("For finance").first().waitFor();
  assert.deepEqual(faults, []);
  await context.close();
});

test("several jobs are deleted at once after a confirmation", async () => {
  const jobs = await Promise.all([1, 2].map(() => createJob("To be deleted", "true", { metadata: { bulk: "yes" } })));
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/jobs?metadata.bulk=yes`);
  await page
    .getByRole("row", { name: /completed.*To be deleted/i })
    .nth(1)
    .waitFor();
  await page.getByLabel("Select all jobs that are shown").check();
  await page.getByRole("toolbar").getByRole("button", { name: "Delete…" }).click();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByText("No job matches these filters").waitFor();
  for (const { id } of jobs) await assert.rejects(api("GET", `/v1/jobs/${id}`), /404/);
  assert.deepEqual(faults, []);
  await context.close();
});

test("archives are listed, and code has colours, in the page and in a large window", async () => {
  const commands = [
    "printf 'a' > a.txt; mkdir docs; printf 'bb' > docs/b.txt; tar czf files.tar.gz a.txt docs; zip -qr files.zip a.txt docs",
    "printf 'def f():\\n    return 1\\n' > code.py",
  ].join("\n");
  const prompt = script(commands, "output: files.zip\noutput: files.tar.gz\noutput: code.py");
  const { id } = await api("POST", "/v1/jobs", { skill: "shell", model: "script/bash", title: "Pack", prompt });
  const job = await ended(id);
  assert.equal(job.outputs.length, 3, JSON.stringify(job.error));
  const { context, page, faults } = await signIn(browser);
  await page.goto(`${url}/console/jobs/${id}`);
  for (const name of ["files.zip", "files.tar.gz"]) {
    await page.locator(".output-list button", { hasText: name }).click();
    await page.locator(`[aria-label="Files in ${name}"]`).getByRole("row", { name: "docs/b.txt 2 B" }).waitFor();
  }
  await page.locator(".output-list button", { hasText: "code.py" }).click();
  await page.locator(".preview .code-keyword", { hasText: "return" }).waitFor();
  await page.getByRole("button", { name: "Enlarge" }).click();
  await page.getByRole("dialog").getByText("return").waitFor();
  await page.getByRole("button", { name: "Close" }).click();
  assert.deepEqual(faults, []);
  await context.close();
});
