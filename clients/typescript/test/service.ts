/** The service that the tests use, and the scenario shared by all clients. */

import { readFileSync } from "node:fs";
import { type ConnectionOptions, type CreateJob, Client, type JobEvent } from "skillet-client";

/** The tests run in `build/test`. */
export const ROOT = new URL("../../", import.meta.url);

interface Scenario {
  omit: string[];
  upload: { name: string; content: string };
  report: CreateJob;
  denied: CreateJob;
  denial: string;
  failed: CreateJob;
  milestones: string[];
  transcript: string[];
}

export const scenario = JSON.parse(readFileSync(new URL("../scenario.json", ROOT), "utf8")) as Scenario;
export const url = variable("SKILLET_URL");
export const apiKey = variable("SKILLET_API_KEY");
/** Short retry delays. */
export const QUICK = { firstDelayMs: 1, maxDelayMs: 4 };

export function client(options: Partial<ConnectionOptions> = {}): Client {
  return new Client({ url, apiKey, ...options });
}

/** Returns a job for the offline model that runs a command. */
export function shell(command: string): CreateJob {
  return { skill: "shell", model: "script/bash", prompt: `\`\`\`bash\n${command}\n\`\`\`` };
}

/** Returns the stored log of a job. */
export async function log(job: string): Promise<JobEvent[]> {
  const params = { path: { job_id: job }, query: { limit: 1000 } };
  const { data } = await client().api.GET("/v1/jobs/{job_id}/events", { params });
  return data?.data ?? [];
}

export async function collect(events: AsyncIterable<JobEvent>): Promise<JobEvent[]> {
  const all: JobEvent[] = [];
  for await (const event of events) all.push(event);
  return all;
}

function variable(name: string): string {
  const value = process.env[name];
  if (!value) throw new Error(`set SKILLET_URL and SKILLET_API_KEY: these tests use a running service`);
  return value;
}
