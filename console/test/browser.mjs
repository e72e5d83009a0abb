/** A browser for the journeys, and the service that SKILLET_URL and SKILLET_API_KEY name. */

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

export const { SKILLET_URL: url, SKILLET_API_KEY: key } = process.env;
export const PATIENCE = 60_000;

export function launch() {
  return chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox"] });
}

/** Sends a request to the API. */
export async function api(method, path, body) {
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  const answer = await fetch(url + path, { method, headers, body: body && JSON.stringify(body) });
  const text = await answer.text();
  assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}

/** A prompt of `script/bash` that runs the commands. */
export function script(commands, more = "") {
  return `\`\`\`bash\n${commands}\n\`\`\`\n${more}`;
}

/** A job of a script that runs commands. */
export function createJob(title, commands, more) {
  const job = { skill: "shell", model: "script/bash", title, prompt: script(commands) };
  return api("POST", "/v1/jobs", { ...job, ...more });
}

/** Waits until a job has ended or waits for a person; returns it. */
export async function ended(id) {
  for (;;) {
    const job = await api("GET", `/v1/jobs/${id}`);
    if (!["queued", "running"].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** A context of the browser, and what goes wrong in its pages: errors, messages of errors, breaches of the policy. */
export async function open(browser, options) {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(PATIENCE);
  const faults = [];
  await context.exposeFunction("reportBreach", (text) => void faults.push(text));
  await context.addInitScript(() => {
    const report = ({ violatedDirective, blockedURI }) => window.reportBreach(`${violatedDirective}: ${blockedURI}`);
    document.addEventListener("securitypolicyviolation", report);
  });
  const newPage = async () => {
    const page = await context.newPage();
    page.on("pageerror", (error) => faults.push(error.message));
    page.on("console", (message) => {
      // Before the sign-in there is no session.
      if (message.type() === "error" && !message.text().includes("401")) faults.push(message.text());
    });
    return page;
  };
  return { context, newPage, faults };
}

/** A page that is signed in. */
export async function signIn(browser, { at = url, as = key, ...options } = {}) {
  const { context, newPage, faults } = await open(browser, options);
  const page = await newPage();
  await page.goto(`${at}/console/`);
  await page.fill("input[type=password]", as);
  await page.click("form button");
  await page.waitForSelector(".sidebar");
  return { context, newPage, page, faults };
}
