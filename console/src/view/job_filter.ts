/** The filters of the job list, stored in the query of its address. */

import type { Schemas, Status } from "../api.js";

export const STATUSES: Status[] = ["queued", "running", "waiting", "completed", "failed", "cancelled"];
/** The periods by their names in the address. */
export const PERIODS: Record<string, [title: string, ms: number]> = {
  "1h": ["Last hour", 3_600_000],
  "24h": ["Last 24 hours", 86_400_000],
  "7d": ["Last 7 days", 604_800_000],
  "30d": ["Last 30 days", 2_592_000_000],
};

export type Query = Record<string, string>;

/** Returns the address of the list with changed filters. Empty values are omitted. */
export function listAddress(query: Query, changes: Query): string {
  const entries = Object.entries({ ...query, ...changes }).filter(([, value]) => value !== "");
  const text = new URLSearchParams(entries).toString();
  return text ? `/console/jobs?${text}` : "/console/jobs";
}

/** Returns the parameters of `GET /v1/jobs`. */
export function listParameters(query: Query) {
  const period = PERIODS[query["created"] ?? ""];
  const metadata = Object.entries(query).filter(([name]) => name.startsWith("metadata."));
  const status = STATUSES.find((it) => it === query["status"]);
  return {
    ...(status ? { status } : {}),
    ...(query["skill"] ? { skill: query["skill"] } : {}),
    ...(query["agent"] ? { agent: query["agent"] } : {}),
    ...(query["conversation_id"] ? { conversation_id: query["conversation_id"] } : {}),
    ...(query["external_id"] ? { external_id: query["external_id"] } : {}),
    ...(period ? { created_after: new Date(Date.now() - period[1]).toISOString() } : {}),
    ...Object.fromEntries(metadata),
  };
}

/** The ids of the jobs in the last list shown, newest first. */
let listed: string[] = [];

export function rememberList(jobs: { id: string }[]): void {
  listed = jobs.map(({ id }) => id);
}

/** Returns the address of the job before or after a job in the last list shown. */
export function neighbourOf(id: string, by: -1 | 1): string | undefined {
  const at = listed.indexOf(id);
  const neighbour = at < 0 ? undefined : listed[at + by];
  return neighbour && `/console/jobs/${neighbour}`;
}

export function hasFilter(query: Query): boolean {
  return Object.keys(query).length > 0;
}

/** Returns the title of a job, or else the start of its prompt, or its id. */
export function titleOf(job: Schemas["Job"]): string {
  return job.title || job.prompt_preview || job.id;
}
