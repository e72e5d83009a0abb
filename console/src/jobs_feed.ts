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
  /** Sets the status of a job immediately. The next load updates its other fields. */
  note: (id: string, status: Job["status"]) => void;
}

export function useJobsFeed(query: Query): JobsFeed {
  const key = JSON.stringify(query);
  const feed = useMemo(() => createJobsFeed(query), [key]);
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

/** Creates the list of the jobs that match a query. */
export function createJobsFeed(query: Query): JobsFeed {
  const [jobs, fresh, counts] = [signal<Job[]>(), signal<Job[]>([]), signal<Record<string, number>>({})];
  const [error, hasMore] = [signal<unknown>(), signal(false)];
  /** The ids of jobs that changed since the last load. */
  let changed = new Set<string>();
  let cursor: string | null = null;
  /** The newest page, if there may be jobs between it and the list. `showFresh` replaces the list with it. */
  let detached: Schemas["JobPage"] | undefined;

  const load = (from?: string): Promise<Schemas["JobPage"]> => {
    const parameters = { ...listParameters(query), limit: PAGE_SIZE, counts: true, ...(from ? { cursor: from } : {}) };
    return call(api.GET("/v1/jobs", { params: { query: parameters } }));
  };
  const loadOne = (id: string) => call(api.GET("/v1/jobs/{job_id}", { params: { path: { job_id: id } } }));
  const note = (id: string, status: Job["status"]) => {
    changed.add(id);
    jobs.value = jobs.value?.map((job) => (job.id === id ? { ...job, status } : job));
  };
  const update = (by: Map<string, Job>) => (jobs.value = jobs.value?.map((job) => by.get(job.id) ?? job));
  /** Shows a page after the given jobs. */
  const show = (page: Schemas["JobPage"], before: Job[] = []) => {
    const all = new Map([...before, ...page.data].map((job) => [job.id, job]));
    jobs.value = [...all.values()];
    cursor = page.next_cursor;
    hasMore.value = cursor !== null;
  };
  const reload = async () => {
    const news = changed;
    changed = new Set();
    try {
      const page = await load();
      counts.value = page.counts ?? counts.value;
      error.value = undefined;
      const shown = jobs.value;
      if (shown === undefined || shown.length === 0) {
        detached = page;
        return showFresh();
      }
      const newest = new Map(page.data.map((job) => [job.id, job]));
      const known = new Set(shown.map(({ id }) => id));
      // Jobs in the range of the loaded page that no longer match the filter are removed.
      const last = page.data.at(-1)?.created_at ?? "";
      const isWithin = (job: Job) => page.next_cursor === null || job.created_at > last;
      jobs.value = shown.filter((job) => newest.has(job.id) || !isWithin(job));
      update(newest);
      fresh.value = page.data.filter(({ id }) => !known.has(id));
      detached = page.next_cursor !== null && fresh.value.length === page.data.length ? page : undefined;
      const beyond = jobs.value.filter(({ id }) => news.has(id) && !newest.has(id)).slice(0, MAX_SINGLE);
      const loaded = await Promise.all(beyond.map(({ id }) => loadOne(id).catch(() => undefined)));
      update(new Map(loaded.flatMap((job) => (job ? [[job.id, job]] : []))));
    } catch (failure) {
      error.value = failure;
    }
  };
  const showFresh = () => {
    if (detached) show(detached);
    else {
      const all = new Map([...fresh.value, ...(jobs.value ?? [])].map((job) => [job.id, job]));
      jobs.value = [...all.values()].sort((a, b) => b.created_at.localeCompare(a.created_at));
    }
    fresh.value = [];
    detached = undefined;
  };
  const loadMore = async () => {
    const from = cursor;
    if (from === null) return;
    const page = await load(from);
    // Another call loaded this page, or the list was replaced.
    if (cursor !== from) return;
    show(page, jobs.value);
  };
  return { jobs, counts, fresh, error, hasMore, showFresh, loadMore, reload, note };
}
