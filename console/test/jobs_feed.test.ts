/** Tests of the live list of jobs. */

import assert from "node:assert/strict";
import { test } from "node:test";

// The client takes the address of the service from the page.
Object.assign(globalThis, { location: { origin: "http://localhost" } });
const { createJobsFeed } = await import("../src/jobs_feed.js");

/** Answers requests for lists with these jobs, newest first. The cursor of a page is the id of its last job. */
function serve(jobs: { id: string; created_at: string }[]) {
  globalThis.fetch = (request) => {
    const query = new URL((request as Request).url).searchParams;
    const from = jobs.findIndex(({ id }) => id === query.get("cursor")) + 1;
    const data = jobs.slice(from, from + Number(query.get("limit")));
    const next_cursor = from + data.length < jobs.length ? data.at(-1)?.id : null;
    return Promise.resolve(Response.json({ data, next_cursor, counts: {} }));
  };
}

/** Returns this number of jobs, newest first. */
function jobsOf(count: number) {
  const job = (number: number) => ({ id: `job_${number}`, created_at: new Date(number * 1000).toISOString() });
  return Array.from({ length: count }, (_, index) => job(count - index));
}

for (const before of [10, 50, 80]) {
  test(`120 jobs that arrive at once after ${before} are all in the list`, async () => {
    const feed = createJobsFeed({});
    serve(jobsOf(before));
    await feed.reload();
    const all = jobsOf(before + 120);
    serve(all);
    await feed.reload();
    assert.equal(feed.fresh.value.length, 50);
    feed.showFresh();
    assert.equal(feed.fresh.value.length, 0);
    while (feed.hasMore.value) await feed.loadMore();
    assert.deepEqual(feed.jobs.value, all);
  });
}

test("a few new jobs are shown above the list, which stays", async () => {
  const feed = createJobsFeed({});
  serve(jobsOf(130));
  await feed.reload();
  await feed.loadMore();
  serve(jobsOf(133));
  await feed.reload();
  feed.showFresh();
  assert.deepEqual(feed.jobs.value, jobsOf(133).slice(0, 103));
  await feed.loadMore();
  assert.deepEqual(feed.jobs.value, jobsOf(133));
  assert.equal(feed.hasMore.value, false);
});

test("a page that is requested twice is added once, and not to a list that was replaced", async () => {
  const feed = createJobsFeed({});
  serve(jobsOf(120));
  await feed.reload();
  await Promise.all([feed.loadMore(), feed.loadMore()]);
  assert.deepEqual(feed.jobs.value, jobsOf(120).slice(0, 100));
  serve(jobsOf(300));
  await feed.reload();
  const loading = feed.loadMore();
  feed.showFresh();
  await loading;
  assert.deepEqual(feed.jobs.value, jobsOf(300).slice(0, 50));
});
