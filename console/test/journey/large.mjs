// Tests of long and fast logs. The tests generate the events, so that slow machines can keep up.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createJob, ended, launch, signIn, url } from "../browser.mjs";
import { calibrate, measure } from "../meter.mjs";
import { startStreamServer } from "../stream_server.mjs";

const MAX_HEAP_BYTES = 150 * 1024 * 1024;
/** The maximum CPU time to open a job with 5,000 events and expand a call. */
const MAX_LOAD_MS = 1000;
/** The maximum CPU time of scripts in one frame. */
const MAX_FRAME_MS = 16;
const DELTAS_A_SECOND = 100;
const DELTAS = 600;
/** The maximum number of elements of a collapsed turn. With its output, a turn would have many more. */
const MAX_ELEMENTS_PER_TURN = 40;

let browser;
before(async () => void (browser = await launch()));
after(() => browser.close());

/** Returns the stored events of turns with one call each, and of the end of the job. */
function eventsOf(job, turns) {
  const at = new Date().toISOString();
  const events = [{ type: "job.started", data: { attempt: 1 } }];
  for (let turn = 0; turn < turns; turn++) {
    const call_id = `call_${turn}`;
    const input = { command: `step ${turn}` };
    const content = [
      { type: "text", text: `Step **${turn}** of the work.` },
      { type: "tool_call", call_id, tool: "shell.exec", input },
    ];
    const usage = { input_tokens: 10, output_tokens: 5 };
    events.push(
      { type: "message.completed", data: { content, stop_reason: "tool_use", usage, model: "m" } },
      { type: "tool.started", data: { call_id, tool: "shell.exec", input } },
      {
        type: "tool.completed",
        data: { call_id, outcome: "ok", output: "line\n".repeat(200), duration_ms: 5, truncated: false, exit_code: 0 },
      },
      { type: "workspace.saved", data: {} },
    );
  }
  events.push({ type: "job.completed", data: job });
  return events.map((event, index) => ({ seq: index + 1, at, attempt: 1, ...event }));
}

/** Responds to the stream request of a job with events. */
async function serve(page, job, events) {
  const body = events
    .map((event) => `id: ${event.seq}\nevent: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
  const answer = { status: 200, contentType: "text/event-stream", body };
  await page.route(`**/v1/jobs/${job.id}/stream*`, (route) => route.fulfill(answer));
}

async function endedJob() {
  const { id } = await createJob("Large", "true");
  return ended(id);
}

test("a log of 5,000 events is usable within a second, and collapsed calls are not in the page", async () => {
  const job = await endedJob();
  const { context, page, faults } = await signIn(browser);
  const meter = await measure(context, page);
  const slowness = await calibrate(page, meter);
  const turns = 1250;
  await serve(page, job, eventsOf(job, turns));
  const before = await meter.read();
  await page.goto(`${url}/console/jobs/${job.id}`);
  await page.getByText("Completed after").waitFor();
  // The page reacts to input: a call in the middle expands.
  await page
    .locator(".call-head")
    .nth(turns / 2)
    .click();
  await page.locator(".call-body").waitFor();
  const after = await meter.read();
  const taskMs = after.taskMs - before.taskMs;
  assert.ok(taskMs <= MAX_LOAD_MS * slowness, `${taskMs} ms on a machine ${slowness} times slower`);
  const count = await page.evaluate(() => document.querySelectorAll("*").length);
  assert.ok(count < turns * MAX_ELEMENTS_PER_TURN, `${count} elements`);
  await meter.collect();
  const { heapBytes } = await meter.read();
  assert.ok(heapBytes < MAX_HEAP_BYTES, `${heapBytes} bytes of heap`);
  console.log(
    `# 5,000 events: ${Math.round(taskMs)} ms, ${count} elements, ${Math.round(heapBytes / 1e6)} MB of heap, slowness ${slowness.toFixed(2)}`,
  );
  await page.getByRole("link", { name: "Timeline" }).click();
  await page.locator(".span").nth(299).waitFor();
  assert.equal(await page.locator(".span").count(), 300);
  assert.deepEqual(faults, []);
  await context.close();
});

test("100 deltas per second cost few milliseconds of script per frame, also in a long log", async () => {
  const job = await endedJob();
  const at = new Date().toISOString();
  const log = eventsOf(job, 500).slice(0, -1);
  let seq = log.length;
  const words = (number) => (number % 60 === 59 ? `w${number}.\n\n` : `\`w${number}\` **and** `);
  let begin;
  const begun = new Promise((resolve) => (begin = resolve));
  const server = await startStreamServer(job.id, async (send) => {
    for (const event of log) send(event);
    await begun;
    const startedAt = Date.now();
    for (let number = 0; number < DELTAS;) {
      // Sends all deltas that are due, so that a busy machine does not slow the stream down.
      const due = Math.min(DELTAS, ((Date.now() - startedAt) / 1000) * DELTAS_A_SECOND);
      for (; number < due; number++) {
        send({ seq: ++seq, type: "message.delta", at, attempt: 1, data: { text: words(number) } });
      }
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  });
  const { context, page, faults } = await signIn(browser, { at: server.url });
  const meter = await measure(context, page);
  const slowness = await calibrate(page, meter);
  await page.goto(`${server.url}/console/jobs/${job.id}`);
  await page.locator(".turn").nth(499).waitFor();
  await page.evaluate(() => {
    window.frameCount = 0;
    const count = () => {
      window.frameCount++;
      requestAnimationFrame(count);
    };
    requestAnimationFrame(count);
  });
  const before = await meter.read();
  begin();
  await page
    .getByText(`w${DELTAS - 1}.`)
    .first()
    .waitFor();
  const after = await meter.read();
  const frames = await page.evaluate(() => window.frameCount);
  const scriptMs = (after.scriptMs - before.scriptMs) / frames;
  assert.ok(frames > DELTAS / DELTAS_A_SECOND, `only ${frames} frames`);
  assert.ok(scriptMs <= MAX_FRAME_MS * slowness, `${scriptMs} ms a frame on a machine ${slowness} times slower`);
  console.log(
    `# 100 deltas a second: ${scriptMs.toFixed(1)} ms of script a frame, ${frames} frames, slowness ${slowness.toFixed(2)}`,
  );
  assert.deepEqual(faults, []);
  await context.close();
  server.stop();
});

test("deltas that arrive together are rendered together", async () => {
  const job = await endedJob();
  const { context, page, faults } = await signIn(browser);
  const at = new Date().toISOString();
  const words = 3000;
  const deltas = Array.from({ length: words }, (_, index) => ({
    seq: 2,
    type: "message.delta",
    at,
    attempt: 1,
    data: { text: index % 60 === 59 ? `w${index}\n\n` : `w${index} ` },
  }));
  const started = { seq: 1, type: "job.started", at, attempt: 1, data: { attempt: 1 } };
  const body = [started, ...deltas].map((event, index) => {
    const line = { ...event, seq: index + 1 };
    return `id: ${line.seq}\nevent: ${line.type}\ndata: ${JSON.stringify(line)}\n\n`;
  });
  let isServed = false;
  await page.route(`**/v1/jobs/${job.id}/stream*`, (route) => {
    // Later requests get no response, like the stream of a job whose model is thinking.
    if (isServed) return;
    isServed = true;
    return route.fulfill({ status: 200, contentType: "text/event-stream", body: body.join("") });
  });
  await page.addInitScript(() => {
    window.changes = 0;
    new MutationObserver(() => window.changes++).observe(document, {
      subtree: true,
      childList: true,
      characterData: true,
    });
  });
  await page.goto(`${url}/console/jobs/${job.id}`);
  await page
    .getByText(`w${words - 1}`)
    .first()
    .waitFor();
  const changes = await page.evaluate(() => window.changes);
  assert.ok(changes < words / 10, `the page changed ${changes} times for ${words} deltas`);
  assert.equal(await page.locator(".turn .markdown p").count(), words / 60);
  assert.deepEqual(faults, []);
  await context.close();
});
