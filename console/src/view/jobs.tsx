/** The page of the job list: filters in the address, live rows, and actions for several jobs. */

import { useLocation } from "preact-iso";
import { useEffect, useState } from "preact/hooks";
import { api, call, type Job } from "../api.js";
import { bytes, count, dateTime, duration, now, plural, usd } from "../format.js";
import { useJobsFeed } from "../jobs_feed.js";
import { useKeys } from "../keyboard.js";
import { confirm } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { attempt, notify } from "../ui/notice.js";
import { Empty, Page, Time } from "../ui/page.js";
import { ProblemBox, Skeleton } from "../ui/problem.js";
import { isOver, StatusBadge } from "../ui/status.js";
import { hasFilter, listAddress, type Query, rememberList, STATUSES, titleOf } from "./job_filter.js";
import { JobFilters } from "./job_filters.js";

export function JobsPage() {
  const { query, route } = useLocation();
  const feed = useJobsFeed(query);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const [at, setAt] = useState(-1);
  const jobs = feed.jobs.value;
  useEffect(() => rememberList(jobs ?? []), [jobs]);
  useEffect(() => setSelected(new Set()), [JSON.stringify(query)]);
  const toggle = (id: string) => {
    const next = new Set(selected);
    if (!next.delete(id)) next.add(id);
    setSelected(next);
  };
  const move = (by: number) => {
    const next = Math.max(0, Math.min((jobs?.length ?? 0) - 1, at + by));
    setAt(next);
    document.querySelectorAll("tbody tr")[next]?.scrollIntoView({ block: "nearest" });
  };
  const job = jobs?.[at];
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    x: () => job && toggle(job.id),
    Enter: () => job && route(`/console/jobs/${job.id}`),
    "/": () => document.querySelector<HTMLElement>(".filters .control")?.focus(),
  });
  const newJob = (
    <a class="button is-accent" href="/console/new">
      <Icon name="plus" />
      New job
    </a>
  );
  return (
    <Page title="Jobs" actions={newJob}>
      <StatusTabs query={query} counts={feed.counts.value} />
      <JobFilters query={query} />
      <ProblemBox error={feed.error.value instanceof TypeError && jobs ? undefined : feed.error.value} />
      {feed.fresh.value.length > 0 && (
        <button class="fresh" onClick={feed.showFresh}>
          Show {plural(feed.fresh.value.length, "new job")}
        </button>
      )}
      {jobs === undefined && feed.error.value === undefined && <Skeleton />}
      {jobs?.length === 0 && <NoJobs isFiltered={hasFilter(query)} />}
      {jobs && jobs.length > 0 && (
        <JobTable jobs={jobs} selected={selected} toggle={toggle} select={setSelected} at={at} />
      )}
      {jobs && jobs.length > 0 && feed.hasMore.value && (
        <button class="button is-wide" onClick={() => void attempt(feed.loadMore)}>
          Load more
        </button>
      )}
      {selected.size > 0 && (
        <BulkBar
          jobs={(jobs ?? []).filter(({ id }) => selected.has(id))}
          clear={() => setSelected(new Set())}
          reload={feed.reload}
        />
      )}
    </Page>
  );
}

function StatusTabs({ query, counts }: { query: Query; counts: Record<string, number> }) {
  const total = Object.values(counts).reduce((sum, value) => sum + value, 0);
  const tab = (name: string, status: string, number: number | undefined) => (
    <a
      key={status}
      href={listAddress(query, { status })}
      aria-current={(query["status"] ?? "") === status ? "true" : undefined}
    >
      {name}
      {number !== undefined && <span class="tab-count">{number >= 10_000 ? "10 k+" : count(number)}</span>}
    </a>
  );
  return (
    <nav class="tabs" aria-label="Status">
      {tab("All", "", Object.keys(counts).length ? total : undefined)}
      {STATUSES.map((status) => tab(status[0]?.toUpperCase() + status.slice(1), status, counts[status]))}
    </nav>
  );
}

interface JobTableProps {
  jobs: Job[];
  selected: ReadonlySet<string>;
  toggle: (id: string) => void;
  select: (ids: ReadonlySet<string>) => void;
  at: number;
}

function JobTable({ jobs, selected, toggle, select, at }: JobTableProps) {
  const areAll = jobs.every(({ id }) => selected.has(id));
  return (
    <div class="table-frame">
      <table class="table jobs">
        <thead>
          <tr>
            <th class="cell-check">
              <input
                type="checkbox"
                aria-label="Select all jobs that are shown"
                checked={areAll}
                onChange={() => select(new Set(areAll ? [] : jobs.map(({ id }) => id)))}
              />
            </th>
            <th class="cell-status">Status</th>
            <th>Job</th>
            <th class="cell-model">Model</th>
            <th class="is-number cell-duration">Duration</th>
            <th class="is-number cell-tokens">Tokens</th>
            <th class="is-number cell-cost">Cost</th>
            <th class="cell-files">Files</th>
            <th class="is-number cell-age">Created</th>
          </tr>
        </thead>
        <tbody>
          {jobs.map((job, index) => (
            <JobRow key={job.id} job={job} isSelected={selected.has(job.id)} isCurrent={index === at} toggle={toggle} />
          ))}
        </tbody>
      </table>
    </div>
  );
}

interface JobRowProps {
  job: Job;
  isSelected: boolean;
  isCurrent: boolean;
  toggle: (id: string) => void;
}

function JobRow({ job, isSelected, isCurrent, toggle }: JobRowProps) {
  const tokens = job.usage.input_tokens + job.usage.output_tokens;
  return (
    <tr class={isCurrent ? "is-current" : undefined} aria-selected={isSelected}>
      <td class="cell-check">
        <input
          type="checkbox"
          aria-label={`Select ${titleOf(job)}`}
          checked={isSelected}
          onChange={() => toggle(job.id)}
        />
      </td>
      <td class="cell-status">
        <StatusBadge status={job.status} />
      </td>
      <td>
        <div class="cell-job">
          <a href={`/console/jobs/${job.id}`}>{titleOf(job)}</a>
          <span class="tag">{job.skill ?? job.agent}</span>
        </div>
      </td>
      <td class="cell-model" title={job.model}>
        {job.model}
      </td>
      <td class="is-number cell-duration">{durationOf(job)}</td>
      <td class="is-number cell-tokens">{tokens ? count(tokens) : <span class="none">–</span>}</td>
      <td class="is-number cell-cost">{job.usage.cost_usd ? usd(job.usage.cost_usd) : <span class="none">–</span>}</td>
      <td class="cell-files">
        {job.outputs.slice(0, 4).map(({ kind, asset }) => (
          <span key={asset.id} title={`${asset.name}, ${bytes(asset.size)}`}>
            <Icon name={kind} />
          </span>
        ))}
        {job.outputs.length > 4 && `+${job.outputs.length - 4}`}
      </td>
      <td class="is-number cell-age" title={dateTime(job.created_at)}>
        <Time at={job.created_at} />
      </td>
    </tr>
  );
}

export function durationOf(job: Job): string {
  if (job.duration_ms !== null) return duration(job.duration_ms);
  if (job.started_at === null) return "–";
  const ms = Math.max(0, now.value - Date.parse(job.started_at));
  return duration(ms - (ms % 1000));
}

function BulkBar({ jobs, clear, reload }: { jobs: Job[]; clear: () => void; reload: () => Promise<void> }) {
  const running = jobs.filter(({ status }) => !isOver(status));
  const ended = jobs.filter(({ status }) => isOver(status));
  const forEach = async (some: Job[], done: string, action: (id: string) => Promise<unknown>) => {
    const results = await Promise.all(some.map(({ id }) => attempt(() => action(id))));
    const succeeded = results.filter(Boolean).length;
    if (succeeded) notify(`${done} ${plural(succeeded, "job")}`);
    clear();
    await reload();
  };
  const path = (job_id: string) => ({ params: { path: { job_id } } });
  const remove = async () => {
    const text = "Their logs and files are deleted, too. This cannot be undone.";
    if (!(await confirm(`Delete ${plural(ended.length, "job")}?`, text, "Delete"))) return;
    await forEach(ended, "Deleted", (id) => call(api.DELETE("/v1/jobs/{job_id}", path(id))));
  };
  const cancel = () => forEach(running, "Cancelled", (id) => call(api.POST("/v1/jobs/{job_id}/cancel", path(id))));
  const retry = () => forEach(ended, "Submitted again:", (id) => call(api.POST("/v1/jobs/{job_id}/retry", path(id))));
  return (
    <div class="bulk" role="toolbar" aria-label="Selected jobs">
      <b>{jobs.length} selected</b>
      <button class="button small" disabled={!running.length} onClick={() => void cancel()}>
        Cancel
      </button>
      <button class="button small" disabled={!ended.length} onClick={() => void retry()}>
        Retry
      </button>
      <button class="button small" disabled={!ended.length} onClick={() => void remove()}>
        Delete…
      </button>
      <button class="plain" aria-label="Clear the selection" onClick={clear}>
        <Icon name="cross" />
      </button>
    </div>
  );
}

function NoJobs({ isFiltered }: { isFiltered: boolean }) {
  if (isFiltered) {
    return (
      <Empty icon="search" title="No job matches these filters">
        <a class="button" href="/console/jobs">
          Clear filters
        </a>
      </Empty>
    );
  }
  return (
    <Empty icon="jobs" title="No jobs yet">
      <p>
        A job runs a skill on a prompt and returns files. The model <code>script/bash</code> runs the commands in the
        prompt and needs no key.
      </p>
      <a class="button is-accent" href="/console/new?example=1">
        Run an example
      </a>
    </Empty>
  );
}
