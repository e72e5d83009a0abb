/** The history of the queue as plots. */

import { useLocation } from "preact-iso";
import { api, call, type Schemas } from "../api.js";
import { count, duration } from "../format.js";
import { useResource } from "../resource.js";
import { endSeries, Plot } from "../ui/plot.js";
import { Segments } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";

type Entry = Schemas["QueueHistoryEntry"];

const POLL_MS = 60_000;
/** The periods in minutes by their names in the address. */
const PERIODS: Record<string, [title: string, minutes: number]> = {
  "3h": ["3 hours", 180],
  "1d": ["1 day", 1440],
  "7d": ["7 days", 10_080],
  "30d": ["30 days", 43_200],
};

export function QueuePlots() {
  const { query } = useLocation();
  const name = query["period"] ?? "3h";
  const minutes = PERIODS[name]?.[1] ?? 180;
  const load = () => call(api.GET("/v1/queue/history", { params: { query: { minutes } } }));
  const history = useResource(`queue:history:${minutes}`, load, { everyMs: POLL_MS });
  return (
    <>
      <div class="row section">
        <h2>History</h2>
        <span class="is-pushed">
          <Segments
            label="Period"
            choices={Object.entries(PERIODS).map(([key, [title]]) => [
              title,
              `/console/queue?period=${key}`,
              key === name,
            ])}
          />
        </span>
      </div>
      <Loaded resource={history}>
        {({ data, step_minutes }) =>
          data.length === 0 ? (
            <p class="fine">No data: no worker was running in this period. The history has one entry per minute.</p>
          ) : (
            <Plots entries={withGaps(data, step_minutes * 60_000)} isLong={minutes > 1440} />
          )
        }
      </Loaded>
    </>
  );
}

/** Returns the entries at equal intervals. A missing entry is undefined. */
function withGaps(entries: Entry[], stepMs: number): [at: number, entry: Entry | undefined][] {
  const known = new Map(entries.map((entry) => [Math.floor(Date.parse(entry.at) / stepMs), entry]));
  const [first, last] = [Math.min(...known.keys()), Math.max(...known.keys())];
  return Array.from({ length: last - first + 1 }, (_, index) => [(first + index) * stepMs, known.get(first + index)]);
}

function Plots({ entries, isLong }: { entries: [number, Entry | undefined][]; isLong: boolean }) {
  const style = isLong ? ({ day: "numeric", month: "short" } as const) : {};
  const times = entries.map(([at]) =>
    new Date(at).toLocaleString(undefined, { ...style, hour: "2-digit", minute: "2-digit" }),
  );
  const values = (of: (entry: Entry) => number | null) => entries.map(([, entry]) => (entry && of(entry)) ?? 0);
  return (
    <div class="plots is-small">
      <Plot
        title="Jobs"
        shape="lines"
        times={times}
        format={count}
        series={[
          { name: "Ready", colour: "grey", values: values((it) => it.ready) },
          { name: "Running", colour: "blue", values: values((it) => it.running) },
          { name: "Waiting", colour: "amber", values: values((it) => it.waiting) },
        ]}
      />
      <Plot title="Ended" shape="bars" times={times} format={count} series={endSeries(values)} />
      <Plot
        title="Longest wait"
        shape="lines"
        times={times}
        format={(seconds) => duration(seconds * 1000)}
        series={[{ name: "Oldest ready job", colour: "violet", values: values((it) => it.oldest_seconds) }]}
      />
    </div>
  );
}
