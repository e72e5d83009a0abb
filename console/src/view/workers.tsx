/** The page of the workers, for administrators. */

import { allPages, api, call, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { ListPage } from "../ui/list.js";
import { Empty, Time } from "../ui/page.js";
import { StatusBadge } from "../ui/status.js";

const POLL_MS = 3000;

export function WorkersPage() {
  const load = () => allPages((query) => call(api.GET("/v1/workers", { params: { query } })));
  const resource = useResource("workers", load, { everyMs: POLL_MS });
  return (
    <ListPage
      title="Workers"
      about="Processes that run jobs."
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        { name: "Worker", cell: (it) => <b>{it.name}</b> },
        {
          name: "State",
          cell: ({ draining }) => (
            <StatusBadge status={draining ? "waiting" : "completed"} word={draining ? "draining" : "ready"} />
          ),
        },
        { name: "Slots", cell: (it) => <Slots worker={it} /> },
        { name: "Version", cell: (it) => it.version, isOptional: true },
        { name: "Isolation", cell: (it) => it.isolation, isOptional: true },
        { name: "Models", cell: (it) => it.providers.join(", "), isOptional: true },
        { name: "Skills", cell: (it) => it.skills.length, isNumber: true, isOptional: true },
        { name: "Last heartbeat", cell: (it) => <Time at={it.heartbeat_at} />, isNumber: true },
      ]}
      empty={
        <Empty icon="workers" title="No worker is running">
          <p>
            Jobs stay queued until a worker runs. Start one with <code>skillet worker</code>.
          </p>
        </Empty>
      }
    />
  );
}

function Slots({ worker: { running, slots } }: { worker: Schemas["Worker"] }) {
  return (
    <span class="slots">
      <meter min={0} max={slots} value={running} aria-label="Slots in use" /> {running} of {slots}
    </span>
  );
}
