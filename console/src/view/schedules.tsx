/** The page of the schedules. */

import { allPages, api, call, type Schemas } from "../api.js";
import { dateTime, duration, until } from "../format.js";
import { useResource } from "../resource.js";
import { ListPage } from "../ui/list.js";
import { Empty, NewButton } from "../ui/page.js";
import { StatusBadge } from "../ui/status.js";

export type Schedule = Schemas["Schedule"];

const POLL_MS = 10_000;

export function SchedulesPage() {
  const load = () => allPages((query) => call(api.GET("/v1/schedules", { params: { query } })));
  const resource = useResource("schedules", load, { everyMs: POLL_MS });
  const button = <NewButton title="New schedule" href="/console/schedules/new" />;
  return (
    <ListPage
      title="Schedules"
      about="Jobs that start on a cron schedule or at a fixed interval."
      actions={button}
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "Schedule",
          cell: (it) => <a href={`/console/schedules/${it.id}`}>{it.name}</a>,
          isMain: true,
        },
        { name: "State", cell: (it) => <ScheduleState schedule={it} /> },
        { name: "Runs", cell: (it) => <Recurrence schedule={it} />, isOptional: true },
        { name: "Job", cell: (it) => it.job.skill ?? it.job.agent, isOptional: true },
        { name: "Next run", cell: (it) => <NextRun schedule={it} />, isNumber: true },
      ]}
      empty={
        <Empty icon="clock" title="No schedules yet">
          <p>A schedule submits the same job repeatedly, such as a report each morning.</p>
          {button}
        </Empty>
      }
    />
  );
}

export function ScheduleState({ schedule: { paused, next_times: times } }: { schedule: Schedule }) {
  if (paused) return <StatusBadge status="waiting" word="paused" />;
  if (times.length === 0) return <StatusBadge status="cancelled" word="ended" />;
  return <StatusBadge status="completed" word="active" />;
}

/** The cron pattern with its time zone, or the interval. */
export function Recurrence({ schedule: { cron, time_zone: zone, interval_seconds: seconds } }: { schedule: Schedule }) {
  if (cron === null) return <>every {duration((seconds ?? 0) * 1000)}</>;
  return (
    <>
      <code>{cron}</code> <span class="none">{zone}</span>
    </>
  );
}

export function NextTimes({ times }: { times: string[] }) {
  return (
    <ol class="times">
      {times.map((at) => (
        <li key={at}>
          <time dateTime={at}>{dateTime(at)}</time>
          <span class="fine">{until(at)}</span>
        </li>
      ))}
    </ol>
  );
}

function NextRun({ schedule: { next_times: times } }: { schedule: Schedule }) {
  const [next] = times;
  if (next === undefined) return <span class="none">–</span>;
  return (
    <time dateTime={next} title={dateTime(next)}>
      {until(next)}
    </time>
  );
}
