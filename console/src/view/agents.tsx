/** Agents, and one that is edited: each change is a new version. */

import { useLocation, useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { modelNames } from "../format.js";
import { useResource } from "../resource.js";
import { confirm } from "../ui/dialog.js";
import { Diff } from "../ui/diff.js";
import { JsonField } from "../ui/fields.js";
import { Icon } from "../ui/icon.js";
import { attempt, notify } from "../ui/notice.js";
import { Empty, Facts, Field, Page, Time } from "../ui/page.js";
import { fieldError, Loaded, ProblemBox } from "../ui/problem.js";
import { Table } from "../ui/table.js";
import { useAgents } from "./job_filters.js";
import { ModelField } from "./model_field.js";

type Agent = Schemas["Agent"];

type Settings = Schemas["PutAgent"];

const NEW: Settings = { soul: "You are a careful assistant.", tools: ["shell.exec", "file.read"], instructions: "" };

export function AgentsPage() {
  const resource = useAgents();
  const button = (
    <a class="button is-accent" href="/console/agents/new">
      <Icon name="plus" />
      New agent
    </a>
  );
  return (
    <Page title="Agents" about="A soul, tools and limits that jobs and conversations use." actions={button}>
      <Loaded resource={resource}>
        {(agents) =>
          agents.length === 0 ? (
            <Empty icon="agents" title="No agents yet">
              {button}
            </Empty>
          ) : (
            <Table
              rows={agents}
              keyOf={({ name }) => name}
              columns={[
                { name: "Agent", cell: (it) => <a href={`/console/agents/${it.name}`}>{it.name}</a> },
                { name: "Version", cell: (it) => it.version, isNumber: true },
                {
                  name: "Model",
                  cell: (it) => modelNames(it.model) ?? <span class="none">default</span>,
                  isOptional: true,
                },
                { name: "Tools", cell: (it) => it.tools.join(", "), isOptional: true, isWrapping: true },
                { name: "Updated", cell: (it) => it.updated_at && <Time at={it.updated_at} />, isNumber: true },
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

export function AgentPage() {
  const name = useRoute().params["name"] ?? "";
  const { query } = useLocation();
  const version = query["version"];
  const params = { path: { name }, query: version ? { version: Number(version) } : {} };
  const resource = useResource<Agent | null>(`agent:${name}:${version}`, async () =>
    name === "new" ? null : call(api.GET("/v1/agents/{name}", { params })),
  );
  const above = { title: "Agents", href: "/console/agents" };
  return (
    <Loaded resource={resource}>
      {(agent) =>
        agent ? (
          <Page title={agent.name} above={above} actions={<AgentActions agent={agent} />}>
            <div class="job-layout">
              {query["compare"] ? <Changes agent={agent} /> : <AgentEditor key={agent.version} agent={agent} />}
              <aside class="job-side">
                <h2>Details</h2>
                <AgentFacts agent={agent} />
              </aside>
            </div>
          </Page>
        ) : (
          <Page title="New agent" above={above}>
            <AgentEditor agent={null} />
          </Page>
        )
      }
    </Loaded>
  );
}

function AgentFacts({ agent }: { agent: Agent }) {
  const versions = Array.from({ length: Math.min(agent.version - 1, 10) }, (_, index) => agent.version - index - 1);
  const address = (version: number) => `/console/agents/${agent.name}?version=${version}`;
  return (
    <Facts
      facts={[
        ["Version", agent.version],
        ["Compare", agent.version > 1 && <a href={`${address(agent.version)}&compare=1`}>Changes</a>],
        [
          "Earlier",
          versions.length > 0 && (
            <span class="names">
              {versions.map((it) => (
                <a key={it} href={address(it)}>
                  {it}
                </a>
              ))}
            </span>
          ),
        ],
        ["Model", modelNames(agent.model) ?? "default"],
        ["Tools", agent.tools.join(", ")],
        ["Network", agent.network],
        ["Secrets", agent.secrets.join(", ")],
        ["MCP servers", agent.mcp_servers.map(({ name }) => name).join(", ")],
        ["Jobs", <a href={`/console/jobs?agent=${agent.name}`}>Show</a>],
        ["Updated", agent.updated_at && <Time at={agent.updated_at} />],
      ]}
    />
  );
}

function AgentActions({ agent }: { agent: Agent }) {
  const { route } = useLocation();
  const remove = async () => {
    if (!(await confirm(`Delete the agent ${agent.name}?`, "Jobs that have been submitted keep it.", "Delete"))) return;
    const params = { path: { name: agent.name } };
    if (await attempt(() => call(api.DELETE("/v1/agents/{name}", { params })), "Deleted")) route("/console/agents");
  };
  return (
    <>
      <button class="button is-quiet" onClick={() => void remove()}>
        Delete…
      </button>
      <a class="button" href={`/console/new?agent=${agent.name}`}>
        Run a job
      </a>
    </>
  );
}

function AgentEditor({ agent }: { agent: Agent | null }) {
  const { route } = useLocation();
  const [name, setName] = useState(agent?.name ?? "");
  const [body, setBody] = useState<Settings>(() => (agent ? settingsOf(agent) : NEW));
  const [error, setError] = useState<unknown>();
  const { soul, model, ...rest } = body;
  const save = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      const saved = await call(api.PUT("/v1/agents/{name}", { params: { path: { name } }, body }));
      notify(`Saved as version ${saved.version}`);
      route(`/console/agents/${name}?version=${saved.version}`);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <form class="stack" onSubmit={save}>
      {!agent && (
        <Field label="Name">
          <input class="control" value={name} onInput={(event) => setName(event.currentTarget.value)} required />
        </Field>
      )}
      <Field label="Soul" hint="What the model is told of itself and its work." error={fieldError(error, "/soul")}>
        <textarea
          class="control"
          rows={7}
          value={soul ?? ""}
          onInput={(event) => setBody({ ...body, soul: event.currentTarget.value })}
        />
      </Field>
      <ModelField
        value={model ?? ""}
        set={(model) => setBody({ ...body, model: model || null })}
        error={fieldError(error, "/model")}
      />
      <JsonField
        label="Settings"
        hint="Tools, hooks, limits, secrets and MCP servers, as PUT /v1/agents/{name} takes them."
        rows={14}
        value={rest}
        set={(value) => setBody({ ...(value as Settings), soul: soul ?? "", model: model ?? null })}
      />
      <ProblemBox error={error} />
      <div class="row">
        <button class="button is-accent">{agent ? "Save a new version" : "Create"}</button>
      </div>
    </form>
  );
}

/** What is set of an agent. What is left out has its default. */
function settingsOf({ name: _, version: __, created_at: ___, updated_at: ____, ...settings }: Agent): Settings {
  return withoutEmpty(settings) as Settings;
}

/** Without nulls, empty texts, and objects and lists that have nothing else. */
function withoutEmpty(value: object): object {
  const entries = Object.entries(value).flatMap(([name, it]: [string, unknown]) => {
    if (it === null || it === "") return [];
    if (typeof it !== "object") return [[name, it]];
    const inner = Array.isArray(it) ? it : withoutEmpty(it);
    return Object.keys(inner).length > 0 ? [[name, inner]] : [];
  });
  return Object.fromEntries(entries) as object;
}

/** What a version changed of the one before it. */
function Changes({ agent }: { agent: Agent }) {
  const { name, version } = agent;
  const params = { path: { name }, query: { version: version - 1 } };
  const before = useResource(`agent:${name}:${version - 1}`, () => call(api.GET("/v1/agents/{name}", { params })));
  return (
    <div class="stack">
      <div class="row">
        <h2>
          Version {version - 1} → {version}
        </h2>
        <a class="button small is-quiet is-pushed" href={`/console/agents/${name}?version=${version}`}>
          Edit
        </a>
      </div>
      <Loaded resource={before}>{(it) => <Diff before={textOf(it)} after={textOf(agent)} />}</Loaded>
    </div>
  );
}

/** The settings as lines, with texts as they are written. */
function textOf(agent: Agent): string {
  const lines = Object.entries(settingsOf(agent)).map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
    return text.includes("\n") ? `${name}:\n${text.replace(/^/gm, "  ")}` : `${name}: ${text}`;
  });
  return lines.join("\n");
}
