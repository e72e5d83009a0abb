/** The reason why a job waits in the queue, with a remedy. */

import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Job, Schemas } from "../api.js";
import { dateTime, plural, until } from "../format.js";
import { keepFresh } from "../resource.js";
import { Icon } from "../ui/icon.js";

/** The polling interval, since no milestone of the job reports its position in the queue. */
const POLL_MS = 5000;

export function WhyItWaits({ job, reload }: { job: Job; reload: () => Promise<void> }) {
  const place = job.queue;
  return job.status === "queued" && place ? <Reasons job={job} place={place} reload={reload} /> : null;
}

interface ReasonsProps {
  job: Job;
  place: Schemas["QueuePlace"];
  reload: () => Promise<void>;
}

function Reasons({ job, place, reload }: ReasonsProps) {
  useEffect(() => keepFresh(reload, { everyMs: POLL_MS }), [job.id]);
  return (
    <div class="why" role="status">
      <Icon name="clock" />
      <div>{explain(place, job)}</div>
    </div>
  );
}

function explain(place: Schemas["QueuePlace"], job: Job): ComponentChildren {
  switch (place.reason) {
    case "position":
      return (
        <Reason title={place.position <= 1 ? "Next in the queue" : `${plural(place.position - 1, "job")} ahead`} />
      );
    case "scheduled":
      return <Reason title={`Starts ${until(place.run_at)}`}>{dateTime(place.run_at)}</Reason>;
    case "earlier_job":
      return (
        <Reason title="Waiting for an earlier job of the conversation">
          <a href={`/console/jobs/${place.job_id}`}>Open that job</a>
        </Reason>
      );
    case "queue_paused":
      return (
        <Reason title="The queue is paused">
          An administrator can resume it on the page <a href="/console/queue">Queue</a>.
        </Reason>
      );
    case "skill_paused":
      return (
        <Reason title={`The skill ${place.skill} is paused`}>
          <a href={`/console/skills/${place.skill}`}>Resume it</a>
        </Reason>
      );
    case "no_worker":
      return (
        <Reason title="No worker is running">
          Start one with <code>skillet worker</code>.
        </Reason>
      );
    case "missing_programs":
      return (
        <Reason title={`No worker has ${place.programs.join(", ")}`}>
          Install the programs of the skill <a href={`/console/skills/${job.skill}`}>{job.skill}</a> on a worker.
        </Reason>
      );
    case "no_network":
      return (
        <Reason title="No worker can provide network access">
          The skill needs network access. See <a href="/console/workers">Workers</a>.
        </Reason>
      );
    case "tenant_cap":
      return (
        <Reason title={`The tenant has reached its limit of ${plural(place.max_running, "running job")}`}>
          The job starts when another one ends.
        </Reason>
      );
  }
}

function Reason({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <>
      <b>{title}.</b> {children}
    </>
  );
}
