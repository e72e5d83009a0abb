/** The page of one schedule: its next times, its job and the history of its runs. */

import { useLocation, useRoute } from "preact-iso";
import { api, call, requestKey, type Schemas } from "../api.js";
import { dateTime, duration, modelNames, words } from "../format.js";
import { useResource } from "../resource.js";
import { DeleteButton } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { CodeBlock } from "../ui/code.js";
import { attempt } from "../ui/notice.js";
import { Facts, Page, Split, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { StatusBadge } from "../ui/status.js";
import { Table } from "../ui/table.js";
import { CATCH_UP, OVERLAP, ScheduleForm } from "./schedule_form.js";
import { NextTimes, Recurrence, type Schedule, ScheduleState } from "./schedules.js";

const POLL_MS = 10_000;
const ABOVE = { title: "Schedules", href: "/console/schedules" };
type Run = Schemas["ScheduleRun"];

export function SchedulePage() {
  const id = useRoute().params["id"] ?? "";
  const { query } = useLocation();
  return id === "new" ? (
    <Page title="New schedule" above={ABOVE}>
      <ScheduleForm schedule={null} />
    </Page>
  ) : (
    <ScheduleOf key={id} id={id} isEdited={query["edit"] !== undefined} />
  );
}

function ScheduleOf({ id, isEdited }: { id: string; isEdited: boolean }) {
  const params = { path: { schedule_id: id } };
  const load = () => call(api.GET("/v1/schedules/{schedule_id}", { params }));
  const resource = useResource(`schedule:${id}`, load, { everyMs: POLL_MS });
  const query = { limit: 50 };
  const loadRuns = () => call(api.GET("/v1/schedules/{schedule_id}/runs", { params: { ...params, query } }));
  const runs = useResource(`schedule:${id}:runs`, loadRuns, { on: () => true, everyMs: POLL_MS });
  const reload = async () => void (await Promise.all([resource.reload(), runs.reload()]));
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(schedule) =>
        isEdited ? (
          <Page title={schedule.name} above={ABOVE}>
            <ScheduleForm schedule={schedule} />
          </Page>
        ) : (
          <Page
            title={schedule.name}
            above={ABOVE}
            heading={
              <>
                {schedule.name} <ScheduleState schedule={schedule} />
              </>
            }
            actions={<Actions schedule={schedule} reload={reload} />}
          >
            <Split aside={<Details schedule={schedule} />}>
              <h2>Runs</h2>
              <Loaded resource={runs}>{({ data }) => <Runs runs={data} />}</Loaded>
            </Split>
          </Page>
        )
      }
    </Loaded>
  );
}

function Actions({ schedule, reload }: { schedule: Schedule; reload: () => Promise<void> }) {
  const { id, paused, name } = schedule;
  const path = { schedule_id: id };
  const pause = async () => {
    const change = () =>
      call(api.PATCH("/v1/schedules/{schedule_id}", { params: { path }, body: { paused: !paused } }));
    await attempt(change, paused ? "Resumed" : "Paused");
    await reload();
  };
  const run = async () => {
    const params = { path, header: { "Idempotency-Key": requestKey() } };
    await attempt(() => call(api.POST("/v1/schedules/{schedule_id}/run", { params })), "A job was submitted");
    await reload();
  };
  return (
    <>
      <DeleteButton
        question={`Delete ${name}?`}
        consequence="Its history is deleted, too. Its jobs stay."
        action={() => call<unknown>(api.DELETE("/v1/schedules/{schedule_id}", { params: { path } }))}
        then={ABOVE.href}
      />
      <a class="button" href={`/console/schedules/${id}?edit=1`}>
        Edit
      </a>
      <button class="button" onClick={() => void pause()}>
        {paused ? "Resume" : "Pause"}
      </button>
      <button class="button" onClick={() => void run()}>
        <Icon name="play" />
        Run now
      </button>
    </>
  );
}

function Details({ schedule }: { schedule: Schedule }) {
  const { job, next_times: times, paused } = schedule;
  return (
    <>
      <h2>Next times</h2>
      {times.length === 0 && <p class="fine">{paused ? "None while paused." : "The schedule has ended."}</p>}
      <NextTimes times={times} />
      <h2>Details</h2>
      <Facts
        facts={[
          ["Runs", <Recurrence schedule={schedule} />],
          ["Skill", job.skill && <a href={`/console/skills/${job.skill}`}>{job.skill}</a>],
          ["Agent", job.agent && <a href={`/console/agents/${job.agent}`}>{job.agent}</a>],
          ["Model", modelNames(job.model) ?? "default"],
          ["Overlap", OVERLAP[schedule.overlap]],
          ["Missed times", CATCH_UP[schedule.catch_up]],
          ["Jitter", schedule.jitter_seconds ? duration(schedule.jitter_seconds * 1000) : null],
          ["Begins", schedule.starts_at && dateTime(schedule.starts_at)],
          ["Ends", schedule.ends_at && dateTime(schedule.ends_at)],
          ["Created", <Time at={schedule.created_at} />],
        ]}
      />
      <h2>Prompt</h2>
      <CodeBlock text={job.prompt} />
    </>
  );
}

function Runs({ runs }: { runs: Run[] }) {
  if (runs.length === 0) return <p class="fine">No runs yet.</p>;
  return (
    <Table
      rows={runs}
      keyOf={(it) => `${it.scheduled_for}${it.trigger}`}
      columns={[
        { name: "Status", cell: (it) => <RunState run={it} /> },
        { name: "Time", cell: (it) => <RunTime run={it} /> },
        { name: "Trigger", cell: (it) => it.trigger, isOptional: true },
        { name: "Note", cell: (it) => <span class="fine">{noteOf(it)}</span>, isOptional: true, isWrapping: true },
        { name: "Job", cell: (it) => it.job_id && <a href={`/console/jobs/${it.job_id}`}>Open</a>, isNumber: true },
      ]}
    />
  );
}

function RunState({ run }: { run: Run }) {
  if (run.job_status) return <StatusBadge status={run.job_status} />;
  return <span class={run.status === "failed" ? "status is-failed" : "status"}>{run.status}</span>;
}

function RunTime({ run }: { run: Run }) {
  return (
    <time dateTime={run.scheduled_for}>
      {dateTime(run.scheduled_for)}
      {run.missed_until && ` – ${dateTime(run.missed_until)}`}
    </time>
  );
}

function noteOf(run: Run): string {
  if (run.reason) return words(run.reason);
  const detail = (run.error as { detail?: unknown } | null)?.detail;
  return typeof detail === "string" ? detail : "";
}
