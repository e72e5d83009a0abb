/** The live list of jobs. */

import { type Signal, signal } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { api, call, type Job, type Schemas } from "./api.js";
import { onMilestone } from "./feed.js";
import { keepFresh } from "./resource.js";
import { listParameters, type Query } from "./view/job_filter.js";

const PAGE_SIZE = 50;
/** The maximum number of rows beyond the first page that one reload refreshes. */
const MAX_SINGLE = 20;

export interface JobsFeed {
  jobs: Signal<Job[] | undefined>;
  counts: Signal<Record<string, number>>;
  /** New jobs that are not shown yet. They wait so that rows do not move unexpectedly. */
  fresh: Signal<Job[]>;
  error: Signal<unknown>;
  hasMore: Signal<boolean>;
  showFresh: () => void;
  loadMore: () => Promise<void>;
  reload: () => Promise<void>;
}

export function useJobsFeed(query: Query): JobsFeed {
  const key = JSON.stringify(query);
  const feed = useMemo(() => newFeed(query), [key]);
  useEffect(() => {
    const stopFeed = onMilestone((event) => event && feed.note(event.job_id, event.status));
    const stopLoads = keepFresh(feed.reload, { on: () => true });
    return () => {
      stopFeed();
      stopLoads();
    };
  }, [feed]);
  return feed;
}

function newFeed(query: Query) {
  const [jobs, fresh, counts] = [signal<Job[]>(), signal<Job[]>([]), signal<Record<string, number>>({})];
  const [error, hasMore] = [signal<unknown>(), signal(false)];
  /** The ids of jobs that changed since the last load. */
  let changed = new Set<string>();
  let cursor: string | null = null;

  const load = (from?: string): Promise<Schemas["JobPage"]> => {
    const parameters = { ...listParameters(query), limit: PAGE_SIZE, counts: true, ...(from ? { cursor: from } : {}) };
    return call(api.GET("/v1/jobs", { params: { query: parameters } }));
  };
  const loadOne = (id: string) => call(api.GET("/v1/jobs/{job_id}", { params: { path: { job_id: id } } }));
  /** Sets the status of a job immediately. The next load updates its other fields. */
  const note = (id: string, status: Job["status"]) => {
    changed.add(id);
    jobs.value = jobs.value?.map((job) => (job.id === id ? { ...job, status } : job));
  };
  const update = (by: Map<string, Job>) => (jobs.value = jobs.value?.map((job) => by.get(job.id) ?? job));
  const reload = async () => {
    const news = changed;
    changed = new Set();
    try {
      const page = await load();
      counts.value = page.counts ?? counts.value;
      error.value = undefined;
      const shown = jobs.value;
      if (shown === undefined || shown.length === 0) {
        jobs.value = page.data;
        cursor = page.next_cursor;
        hasMore.value = cursor !== null;
        return;
      }
      const newest = new Map(page.data.map((job) => [job.id, job]));
      const known = new Set(shown.map(({ id }) => id));
      // Jobs in the range of the loaded page that no longer match the filter are removed.
      const last = page.data.at(-1)?.created_at ?? "";
      const isWithin = (job: Job) => page.next_cursor === null || job.created_at > last;
      jobs.value = shown.filter((job) => newest.has(job.id) || !isWithin(job));
      update(newest);
      fresh.value = page.data.filter(({ id }) => !known.has(id));
      const beyond = jobs.value.filter(({ id }) => news.has(id) && !newest.has(id)).slice(0, MAX_SINGLE);
      const loaded = await Promise.all(beyond.map(({ id }) => loadOne(id).catch(() => undefined)));
      update(new Map(loaded.flatMap((job) => (job ? [[job.id, job]] : []))));
    } catch (failure) {
      error.value = failure;
    }
  };
  const showFresh = () => {
    const all = new Map([...fresh.value, ...(jobs.value ?? [])].map((job) => [job.id, job]));
    jobs.value = [...all.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
    fresh.value = [];
  };
  const loadMore = async () => {
    if (cursor === null) return;
    const page = await load(cursor);
    cursor = page.next_cursor;
    hasMore.value = cursor !== null;
    jobs.value = [...(jobs.value ?? []), ...page.data];
  };
  return { jobs, counts, fresh, error, hasMore, showFresh, loadMore, reload, note };
}
