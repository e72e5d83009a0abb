/** The controls for the filters of the job list. */

import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { allPages, api, call } from "../api.js";
import { useResource } from "../resource.js";
import { listAddress, PERIODS, type Query } from "./job_filter.js";

export function useSkills() {
  return useResource("skills", () => allPages((query) => call(api.GET("/v1/skills", { params: { query } }))));
}

export function useAgents() {
  return useResource("agents", () => allPages((query) => call(api.GET("/v1/agents", { params: { query } }))));
}

export function JobFilters({ query }: { query: Query }) {
  const { route } = useLocation();
  const skills = useSkills().data.value ?? [];
  const agents = useAgents().data.value ?? [];
  const set = (changes: Query) => route(listAddress(query, changes));
  const extra = Object.entries(query).filter(([name]) => !["status", "skill", "agent", "created"].includes(name));
  return (
    <div class="filters">
      <Choice
        label="Skill"
        value={query["skill"]}
        names={skills.map(({ name }) => name)}
        set={(skill) => set({ skill })}
      />
      <Choice
        label="Agent"
        value={query["agent"]}
        names={agents.map(({ name }) => name)}
        set={(agent) => set({ agent })}
      />
      <select
        class="control"
        aria-label="Created"
        value={query["created"] ?? ""}
        onChange={(event) => set({ created: event.currentTarget.value })}
      >
        <option value="">Any time</option>
        {Object.entries(PERIODS).map(([name, [title]]) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </select>
      <AddFilter add={set} />
      {extra.map(([name, value]) => (
        <button key={name} class="chip" aria-label={`Remove the filter ${name}`} onClick={() => set({ [name]: "" })}>
          {name.replace("metadata.", "")} = {value} <span aria-hidden="true">×</span>
        </button>
      ))}
      {Object.keys(query).length > 0 && (
        <a class="button is-quiet" href="/console/jobs">
          Clear
        </a>
      )}
    </div>
  );
}

interface ChoiceProps {
  label: string;
  value: string | undefined;
  names: string[];
  set: (value: string) => void;
}

function Choice({ label, value = "", names, set }: ChoiceProps) {
  const all = value && !names.includes(value) ? [...names, value] : names;
  return (
    <select class="control" aria-label={label} value={value} onChange={(event) => set(event.currentTarget.value)}>
      <option value="">{`Any ${label.toLowerCase()}`}</option>
      {all.map((name) => (
        <option key={name}>{name}</option>
      ))}
    </select>
  );
}

/** A field that adds a filter: `key=value` for metadata, or an external id. */
function AddFilter({ add }: { add: (changes: Query) => void }) {
  const [text, setText] = useState("");
  const submit = (event: Event) => {
    event.preventDefault();
    const [name = "", value] = text.trim().split(/=(.*)/s);
    if (name === "") return;
    add(value === undefined ? { external_id: name } : { [`metadata.${name}`]: value });
    setText("");
  };
  return (
    <form onSubmit={submit}>
      <input
        class="control"
        aria-label="Metadata or external id"
        placeholder="key=value or external id"
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </form>
  );
}
