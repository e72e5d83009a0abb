/** The page of the tenant's usage: plots by day, and totals by skill, agent or model. */

import { useLocation } from "preact-iso";
import { allPages, api, call, type Schemas } from "../api.js";
import { count, duration, usd } from "../format.js";
import { useResource } from "../resource.js";
import { type Choice, Empty, Page, Segments } from "../ui/page.js";
import { endSeries, Plot } from "../ui/plot.js";
import { Loaded } from "../ui/problem.js";
import { Table } from "../ui/table.js";

type Group = Schemas["UsageGroup"];
type By = "skill" | "agent" | "model";

const PERIODS = [7, 30, 90];
const GROUPS: Record<By, string> = { skill: "Skill", agent: "Agent", model: "Model" };
const DAY_MS = 86_400_000;
const DAY_STYLE = { day: "numeric", month: "short", timeZone: "UTC" } as const;

export function UsagePage() {
  const { query } = useLocation();
  const days = PERIODS.find((it) => String(it) === query["days"]) ?? 30;
  const by = query["by"] === "agent" || query["by"] === "model" ? query["by"] : "skill";
  const from = dayOf(Date.now() - (days - 1) * DAY_MS);
  const daily = useUsage("day", from);
  const address = (changes: Record<string, string | number>) =>
    `/console/usage?${new URLSearchParams({ days: String(days), by, ...mapped(changes) }).toString()}`;
  const periods = PERIODS.map((it): Choice => [`${it} days`, address({ days: it }), it === days]);
  return (
    <Page
      title="Usage"
      about="Jobs, tokens and cost. A job counts on the day it ended (UTC)."
      actions={<Segments label="Period" choices={periods} />}
    >
      <Loaded resource={daily}>
        {(groups) =>
          groups.length === 0 ? (
            <Empty icon="queue" title={`No job has ended in the last ${days} days`}>
              <a class="button is-accent" href="/console/new">
                New job
              </a>
            </Empty>
          ) : (
            <>
              <Daily groups={groups} days={days} />
              <nav class="tabs spaced" aria-label="Group">
                {Object.entries(GROUPS).map(([name, title]) => (
                  <a key={name} href={address({ by: name })} aria-current={name === by ? "true" : undefined}>
                    By {title.toLowerCase()}
                  </a>
                ))}
              </nav>
              <Groups by={by} from={from} />
            </>
          )
        }
      </Loaded>
    </Page>
  );
}

const mapped = (values: Record<string, string | number>) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, String(value)]));

function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

function useUsage(by: By | "day", from: string) {
  const load = () => allPages((query) => call(api.GET("/v1/usage", { params: { query: { by, from, ...query } } })));
  return useResource(`usage:${by}:${from}`, load, { everyMs: 60_000 });
}

function Daily({ groups, days }: { groups: Group[]; days: number }) {
  const known = new Map(groups.map((group) => [group.key, group]));
  const times = Array.from({ length: days }, (_, index) => dayOf(Date.now() - (days - 1 - index) * DAY_MS));
  const names = times.map((day) => new Date(day).toLocaleDateString(undefined, DAY_STYLE));
  const values = (of: (group: Group) => number | null) =>
    times.map((day) => {
      const group = known.get(day);
      return (group && of(group)) ?? 0;
    });
  return (
    <div class="plots">
      <Plot
        title="Cost"
        shape="bars"
        times={names}
        format={usd}
        series={[{ name: "Dollars", colour: "blue", values: values((it) => it.cost_usd) }]}
      />
      <Plot title="Jobs" shape="bars" times={names} format={count} series={endSeries(values)} />
      <Plot
        title="Tokens"
        shape="bars"
        times={names}
        format={count}
        series={[
          { name: "Input", colour: "violet", values: values((it) => it.input_tokens) },
          { name: "Output", colour: "amber", values: values((it) => it.output_tokens) },
        ]}
      />
      <Plot
        title="Run time"
        shape="bars"
        times={names}
        format={duration}
        series={[{ name: "Running", colour: "blue", values: values((it) => it.duration_ms) }]}
      />
    </div>
  );
}

function Groups({ by, from }: { by: By; from: string }) {
  const name = (key: string | null) => {
    if (key === null) return <span class="none">{by === "skill" ? "Jobs of agents" : "Jobs without an agent"}</span>;
    return by === "model" ? key : <a href={`/console/${by}s/${key}`}>{key}</a>;
  };
  return (
    <Loaded resource={useUsage(by, from)}>
      {(groups) => (
        <Table
          rows={groups}
          keyOf={({ key }) => key ?? ""}
          columns={[
            { name: GROUPS[by], cell: ({ key }) => name(key) },
            { name: "Completed", cell: (it) => count(it.completed), isNumber: true },
            { name: "Failed", cell: (it) => count(it.failed), isNumber: true },
            {
              name: "Tokens",
              cell: (it) => count(it.input_tokens + it.output_tokens),
              isNumber: true,
              isOptional: true,
            },
            { name: "Time", cell: (it) => duration(it.duration_ms), isNumber: true, isOptional: true },
            { name: "Cost", cell: (it) => usd(it.cost_usd), isNumber: true },
          ]}
        />
      )}
    </Loaded>
  );
}
