/** The form for the settings of an agent. Saving creates a new version. */

import { useLocation } from "preact-iso";
import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { JsonField, ListField, LongTextField, NumberField, TextField } from "../ui/fields.js";
import { notify } from "../ui/notice.js";
import { fieldError, ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";
import type { Agent } from "./agents.js";
import { McpServers } from "./mcp_servers.js";
import { ModelField } from "./model_field.js";

type Settings = Schemas["PutAgent"];
type Limit = keyof NonNullable<Settings["limits"]>;

const NEW: Settings = { soul: "You are a careful assistant.", tools: ["shell.exec", "file.read"] };

const LIMITS: Record<Limit, string> = {
  timeout_seconds: "Time limit in seconds",
  max_iterations: "Turns",
  max_tokens: "Tokens per reply",
  max_total_tokens: "Total tokens",
  max_cost_usd: "Cost in dollars",
  approval_timeout_seconds: "Approval timeout in seconds",
};

export function AgentEditor({ agent }: { agent: Agent | null }) {
  const { route } = useLocation();
  const [name, setName] = useState(agent?.name ?? "");
  const [body, setBody] = useState<Settings>(() => (agent ? settingsOf(agent) : NEW));
  const change = (changes: Partial<Settings>) => setBody({ ...body, ...changes });
  const { submit, error, isSending } = useSubmit(async () => {
    const saved = await call(api.PUT("/v1/agents/{name}", { params: { path: { name } }, body }));
    notify(`Saved as version ${saved.version}`);
    route(`/console/agents/${name}?version=${saved.version}`);
  });
  const errorAt = (pointer: string) => fieldError(error, pointer);
  const list = (field: "tools" | "skills" | "secrets", label: string, hint: string) => (
    <ListField
      label={label}
      hint={hint}
      error={errorAt(`/${field}`)}
      value={body[field]}
      set={(value) => change({ [field]: value })}
    />
  );
  const hook = (field: keyof Schemas["Hooks"], label: string) => (
    <ListField
      label={label}
      error={errorAt(`/hooks/${field}`)}
      value={body.hooks?.[field]}
      placeholder="shell.*"
      set={(value) => change({ hooks: { ...body.hooks, [field]: value } })}
    />
  );
  return (
    <form class="stack new-job" onSubmit={submit}>
      {!agent && <TextField label="Name" value={name} set={setName} required />}
      <LongTextField
        label="Soul"
        hint="The identity of the agent, at the start of the system prompt."
        error={errorAt("/soul")}
        value={body.soul}
        set={(soul) => change({ soul })}
      />
      <LongTextField
        label="Instructions"
        hint="How the agent works. Markdown, after the tools in the system prompt."
        rows={3}
        error={errorAt("/instructions")}
        value={body.instructions ?? ""}
        set={(instructions) => change({ instructions })}
      />
      <ModelField
        value={body.model ?? ""}
        set={(model) => change({ model: model.length > 0 ? model : null })}
        error={errorAt("/model")}
      />
      <h2>Tools and access</h2>
      {list("tools", "Tools", "Names separated by commas, such as shell.exec.")}
      <div class="two">
        {list("skills", "Skills", "Skills whose instructions the agent can read.")}
        {list("secrets", "Secrets", "A name that ends with ? is optional.")}
      </div>
      <TextField
        label="Network"
        hint="none, public, or hosts separated by spaces."
        error={errorAt("/network")}
        placeholder="none"
        value={body.network ?? ""}
        set={(network) => change({ network: network || "none" })}
      />
      <h2>MCP servers</h2>
      <McpServers
        servers={body.mcp_servers ?? []}
        set={(mcp_servers) => change({ mcp_servers })}
        error={errorAt("/mcp_servers")}
      />
      <h2>Hooks</h2>
      <div class="three">
        {hook("confirm", "Require approval")}
        {hook("log", "Log in full")}
        {hook("silent", "Log without input")}
      </div>
      <h2>Limits</h2>
      <div class="three">
        {Object.entries(LIMITS).map(([field, label]) => (
          <NumberField
            key={field}
            label={label}
            error={errorAt(`/limits/${field}`)}
            value={body.limits?.[field as Limit]}
            step={field === "max_cost_usd" ? "any" : 1}
            placeholder="default"
            set={(value) => change({ limits: { ...body.limits, [field]: value } })}
          />
        ))}
      </div>
      <JsonField
        label="Result schema"
        hint="A JSON Schema for jobs without their own."
        error={errorAt("/output_schema")}
        value={body.output_schema}
        set={(value) => change({ output_schema: value as Record<string, never> | null })}
      />
      <ProblemBox error={error} />
      <div class="row form-foot">
        <button class="button is-accent" disabled={isSending}>
          {agent ? "Save a new version" : "Create"}
        </button>
      </div>
    </form>
  );
}

/** Returns the settings of an agent. Omitted settings have their defaults. */
export function settingsOf({ name: _, version: __, created_at: ___, updated_at: ____, ...settings }: Agent): Settings {
  // Without tools, an agent would have the default ones. A schema means something else without its empty parts.
  const { tools, output_schema, ...others } = settings;
  return { ...withoutEmpty(others), tools, ...(output_schema && { output_schema }) } as Settings;
}

/** Removes nulls and empty texts, and objects and lists that are then empty. */
function withoutEmpty(value: object): object {
  const entries = Object.entries(value).flatMap(([name, it]: [string, unknown]) => {
    if (it === null || it === "") return [];
    if (typeof it !== "object") return [[name, it]];
    const inner = Array.isArray(it) ? it : withoutEmpty(it);
    return Object.keys(inner).length > 0 ? [[name, inner]] : [];
  });
  return Object.fromEntries(entries) as object;
}
