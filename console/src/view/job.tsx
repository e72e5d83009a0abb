/** The page of one job: transcript, outputs, request and actions. */

import type { ComponentChildren } from "preact";
import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, call, type Job } from "../api.js";
import { count, dateTime, duration, usd } from "../format.js";
import { useResource } from "../resource.js";
import { type Log, useLog } from "../transcript/follow.js";
import { Timeline } from "../transcript/timeline.js";
import { TranscriptView } from "../transcript/view.js";
import { CopyButton } from "../ui/copy.js";
import { Value } from "../ui/json_tree.js";
import { Facts, Page, Split, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { isOver, StatusBadge } from "../ui/status.js";
import { Actions } from "./job_actions.js";
import { titleOf } from "./job_filter.js";
import { Outputs } from "./outputs.js";
import { RawLog } from "./raw_log.js";
import { Asked, RequestView } from "./request.js";
import { durationOf } from "./jobs.js";
import { WhyItWaits } from "./waiting.js";

const VIEWS = { transcript: "Transcript", timeline: "Timeline", request: "Request", log: "Log" } as const;
const ABOVE = { title: "Jobs", href: "/console/jobs" };

export function JobPage() {
  const id = useRoute().params["id"] ?? "";
  return <JobOf key={id} id={id} />;
}

function JobOf({ id }: { id: string }) {
  const path = { params: { path: { job_id: id } } };
  const load = () => call(api.GET("/v1/jobs/{job_id}", path));
  const resource = useResource(`job:${id}`, load, { on: ({ job_id }) => job_id === id });
  const log = useLog(id);
  const end = log.transcript.value.items.findLast((item) => item.kind === "end");
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(loaded) => <JobView job={end?.kind === "end" ? end.job : loaded} log={log} reload={resource.reload} />}
    </Loaded>
  );
}

function JobView({ job, log, reload }: { job: Job; log: Log; reload: () => Promise<void> }) {
  const { query } = useLocation();
  const [opened, openFile] = useState<string>();
  const view = (query["view"] ?? "transcript") as keyof typeof VIEWS;
  const heading = (
    <>
      {titleOf(job)} <StatusBadge status={job.status} />
    </>
  );
  return (
    <Page title={titleOf(job)} above={ABOVE} heading={heading} actions={<Actions job={job} reload={reload} />}>
      <WhyItWaits job={job} reload={reload} />
      <Split
        label="Outputs and details"
        aside={
          <>
            <Outputs job={job} log={log} opened={opened} openFile={openFile} />
            <h2>Details</h2>
            <JobFacts job={job} />
          </>
        }
      >
        <div>
          <nav class="tabs" aria-label="View">
            {Object.entries(VIEWS).map(([name, title]) => (
              <a
                key={name}
                href={`/console/jobs/${job.id}?view=${name}`}
                aria-current={view === name ? "true" : undefined}
              >
                {title}
              </a>
            ))}
          </nav>
          {view === "request" && <RequestView job={job.id} />}
          {view === "log" && <RawLog events={log.events.value} job={job.id} />}
          {view === "timeline" && <Timeline events={log.events.value} job={job.id} isOver={isOver(job.status)} />}
          {(view === "transcript" || !(view in VIEWS)) && (
            <>
              <Asked job={job.id} title={titleOf(job)} />
              <TranscriptView log={log} openFile={openFile} />
            </>
          )}
        </div>
      </Split>
    </Page>
  );
}

function JobFacts({ job }: { job: Job }) {
  const { usage } = job;
  const link = (href: string, text: string) => <a href={href}>{text}</a>;
  return (
    <Facts
      facts={[
        ["Skill", job.skill && link(`/console/skills/${job.skill}`, job.skill)],
        ["Agent", job.agent && link(`/console/agents/${job.agent}`, `${job.agent} · version ${job.agent_version}`)],
        ["Model", job.model],
        ["Conversation", job.conversation_id && link(`/console/conversations/${job.conversation_id}`, "Open")],
        ["Created", <Time at={job.created_at} />],
        ["Waited", job.queued_ms === null ? null : duration(job.queued_ms)],
        ["Duration", durationOf(job)],
        ["Finished", job.finished_at && dateTime(job.finished_at)],
        ["Attempts", job.attempt > 1 ? job.attempt : null],
        ["Turns", usage.iterations ? `${usage.iterations} with ${usage.tool_calls} calls` : null],
        ["Tokens", usage.input_tokens ? `${count(usage.input_tokens)} in, ${count(usage.output_tokens)} out` : null],
        ["Cost", usage.cost_usd ? usd(usage.cost_usd) : null],
        ["Retry of", job.retry_of && link(`/console/jobs/${job.retry_of}`, "Earlier job")],
        ["External id", job.external_id],
        ...Object.entries(job.metadata).map(([name, value]): [string, ComponentChildren] => [
          name,
          <Value value={value} />,
        ]),
        [
          "Id",
          <span class="id">
            <code>{job.id}</code>
            <CopyButton text={job.id} />
          </span>,
        ],
      ]}
    />
  );
}
