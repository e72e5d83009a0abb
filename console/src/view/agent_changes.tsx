/** The changes of an agent version compared with the previous version. */

import { api, call } from "../api.js";
import { useResource } from "../resource.js";
import { Diff } from "../ui/diff.js";
import { Loaded } from "../ui/problem.js";
import { settingsOf } from "./agent_editor.js";
import type { Agent } from "./agents.js";

export function AgentChanges({ agent }: { agent: Agent }) {
  const { name, version } = agent;
  const params = { path: { name }, query: { version: version - 1 } };
  const before = useResource(`agent:${name}:${version - 1}`, () => call(api.GET("/v1/agents/{name}", { params })));
  return (
    <>
      <div class="row">
        <h2>
          Version {version - 1} → {version}
        </h2>
        <a class="button small is-quiet is-pushed" href={`/console/agents/${name}?version=${version}`}>
          Edit
        </a>
      </div>
      <Loaded resource={before}>{(it) => <Diff before={textOf(it)} after={textOf(agent)} />}</Loaded>
    </>
  );
}

/** Returns the settings of an agent as text for the diff. */
export function textOf(agent: Agent): string {
  const { output_schema: schema, ...settings } = settingsOf(agent);
  // The schema is shown as JSON, because an empty value in it has a meaning.
  const all = { ...settings, output_schema: schema ? JSON.stringify(schema, null, 2) : null };
  return Object.entries(all)
    .flatMap(([name, value]) => linesOf(name, value))
    .join("\n");
}

/** Returns a setting as lines for the diff. */
function linesOf(name: string, value: unknown): string[] {
  if (value === null) return [];
  if (typeof value !== "object") {
    const lines = String(value).split("\n");
    return lines.length > 1 ? [`${name}:`, ...lines.map((line) => `  ${line}`)] : [`${name}: ${lines[0]}`];
  }
  if (Array.isArray(value) && value.length === 0) return [`${name}: none`];
  if (Array.isArray(value) && value.every((it) => typeof it !== "object")) {
    return [`${name}:`, ...value.map((it) => `  ${it}`)];
  }
  return Object.entries(value).flatMap(([key, it]: [string, unknown]) => linesOf(`${name}.${keyOf(key, it)}`, it));
}

/** Returns the name of a list entry, or its key if it has no name. */
function keyOf(key: string, value: unknown): string {
  const name = (value as { name?: unknown } | null)?.name;
  return typeof name === "string" ? name : key;
}
