/** The page of the queue of all tenants, for administrators. */

import { api, call } from "../api.js";
import { count, duration, now } from "../format.js";
import { useResource } from "../resource.js";
import { Icon } from "../ui/icon.js";
import { attempt } from "../ui/notice.js";
import { Page } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { QueuePlots } from "./queue_plots.js";

const POLL_MS = 3000;

export function QueuePage() {
  const resource = useResource("queue", () => call(api.GET("/v1/queue")), { everyMs: POLL_MS });
  const toggle = async (paused: boolean) => {
    await attempt(
      () => call<unknown>(paused ? api.POST("/v1/queue/resume") : api.POST("/v1/queue/pause")),
      paused ? "Resumed" : "Paused",
    );
    await resource.reload();
  };
  const queue = resource.data.value;
  const action = queue && (
    <button class="button" onClick={() => void toggle(queue.paused)}>
      {queue.paused ? "Resume the queue" : "Pause the queue"}
    </button>
  );
  return (
    <Page title="Queue" about="Jobs of all tenants that have not ended." actions={action}>
      <Loaded resource={resource}>
        {(it) => (
          <>
            {it.paused && (
              <div class="why">
                <Icon name="hand" />
                <div>
                  <b>The queue is paused.</b> Running jobs continue. No new job starts.
                </div>
              </div>
            )}
            <div class="gauges">
              <Gauge name="Ready" value={count(it.ready)} about="could start now" />
              <Gauge name="Running" value={count(it.running)} about="have a worker" />
              <Gauge name="Waiting" value={count(it.waiting)} about="need approval" />
              <Gauge name="Scheduled" value={count(it.scheduled)} about="start later" />
              <Gauge name="Blocked" value={count(it.blocked)} about="wait for another job" />
              <Gauge
                name="Oldest"
                value={it.oldest ? duration(Math.max(0, now.value - Date.parse(it.oldest))) : "–"}
                about="ready job"
              />
            </div>
            {it.paused_skills.length > 0 && <p class="fine">Paused skills: {it.paused_skills.join(", ")}</p>}
            <QueuePlots />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Gauge({ name, value, about }: { name: string; value: string; about: string }) {
  return (
    <div class="gauge">
      <span class="gauge-name">{name}</span>
      <b>{value}</b>
      <span class="fine">{about}</span>
    </div>
  );
}
