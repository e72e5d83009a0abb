/** The workers, for administrators. */

import { api, call, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { Icon } from "../ui/icon.js";
import { Empty, Page, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { Table } from "../ui/table.js";

const POLL_MS = 3000;
const LIMIT = { params: { query: { limit: 100 } } };

export function WorkersPage() {
  const resource = useResource("workers", () => call(api.GET("/v1/workers", LIMIT)), { everyMs: POLL_MS });
  return (
    <Page title="Workers" about="Processes that run jobs.">
      <Loaded resource={resource}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="workers" title="No worker is running">
              <p>
                Jobs stay queued until one is. Start one with <code>skillet worker</code>.
              </p>
            </Empty>
          ) : (
            <Table
              rows={data}
              keyOf={({ id }) => id}
              columns={[
                { name: "Worker", cell: (it) => <b>{it.name}</b> },
                {
                  name: "State",
                  cell: (it) =>
                    it.draining ? (
                      <span class="tag is-bad">draining</span>
                    ) : (
                      <span class="status is-completed">
                        <Icon name="check" />
                        ready
                      </span>
                    ),
                },
                { name: "Slots", cell: (it) => <Slots worker={it} /> },
                { name: "Version", cell: (it) => it.version, isOptional: true },
                { name: "Isolation", cell: (it) => it.isolation, isOptional: true },
                { name: "Models", cell: (it) => it.providers.join(", "), isOptional: true },
                { name: "Skills", cell: (it) => it.skills.length, isNumber: true, isOptional: true },
                { name: "Last heard", cell: (it) => <Time at={it.heartbeat_at} />, isNumber: true },
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

function Slots({ worker: { running, slots } }: { worker: Schemas["Worker"] }) {
  return (
    <span class="slots">
      <meter min={0} max={slots} value={running} aria-label="Slots in use" /> {running} of {slots}
    </span>
  );
}
