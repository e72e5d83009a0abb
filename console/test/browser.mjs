/** The browser for the journey tests, and requests to the service in SKILLET_URL with SKILLET_API_KEY. */

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

/** Returns a prompt for `script/bash` that runs commands. */
export function script(commands, more = "") {
  return `\`\`\`bash\n${commands}\n\`\`\`\n${more}`;
}

/** Creates a job that runs commands with `script/bash`. */
export function createJob(title, commands, more) {
  const job = { skill: "shell", model: "script/bash", title, prompt: script(commands) };
  return api("POST", "/v1/jobs", { ...job, ...more });
}

/** Waits until a job has ended or waits for approval, and returns it. */
export async function ended(id) {
  for (;;) {
    const job = await api("GET", `/v1/jobs/${id}`);
    if (!["queued", "running"].includes(job.status)) return job;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Opens a browser context and collects its faults: page errors, console errors and violations of the CSP. */
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
      // Requests before the sign-in fail with 401.
      if (message.type() === "error" && !message.text().includes("401")) faults.push(message.text());
    });
    return page;
  };
  return { context, newPage, faults };
}

/** Opens a page that is signed in. */
export async function signIn(browser, { at = url, as = key, ...options } = {}) {
  const { context, newPage, faults } = await open(browser, options);
  const page = await newPage();
  await page.goto(`${at}/console/`);
  await page.fill("input[type=password]", as);
  await page.click("form button");
  await page.waitForSelector(".sidebar");
  return { context, newPage, page, faults };
}
