/** The pages of the agents: the list, and one agent with its versions. */

import { useLocation, useRoute } from "preact-iso";
import { api, call, type Schemas } from "../api.js";
import { modelNames } from "../format.js";
import { useResource } from "../resource.js";
import { DeleteButton } from "../ui/dialog.js";
import { ListPage } from "../ui/list.js";
import { Empty, Facts, NewButton, Page, Split, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { AgentChanges } from "./agent_changes.js";
import { AgentEditor } from "./agent_editor.js";
import { useAgents } from "./job_filters.js";

export type Agent = Schemas["Agent"];

const ABOVE = { title: "Agents", href: "/console/agents" };

export function AgentsPage() {
  const button = <NewButton title="New agent" href="/console/agents/new" />;
  return (
    <ListPage
      title="Agents"
      about="Reusable settings of jobs and conversations: soul, tools and limits."
      actions={button}
      resource={useAgents()}
      keyOf={({ name }) => name}
      columns={[
        { name: "Agent", cell: (it) => <a href={`/console/agents/${it.name}`}>{it.name}</a> },
        { name: "Version", cell: (it) => it.version || <span class="none">built in</span> },
        { name: "Model", cell: (it) => modelNames(it.model) ?? <span class="none">default</span>, isOptional: true },
        { name: "Tools", cell: (it) => it.tools.join(", "), isOptional: true, isWrapping: true },
        { name: "Updated", cell: (it) => <Time at={it.updated_at} />, isNumber: true },
      ]}
      empty={
        <Empty icon="agents" title="No agents yet">
          {button}
        </Empty>
      }
    />
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
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(agent) =>
        agent ? (
          <Page title={agent.name} above={ABOVE} actions={<AgentActions agent={agent} />}>
            <Split aside={<AgentFacts agent={agent} />}>
              {query["compare"] ? <AgentChanges agent={agent} /> : <AgentEditor key={agent.version} agent={agent} />}
            </Split>
          </Page>
        ) : (
          <Page title="New agent" above={ABOVE}>
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
  const earlier = versions.map((it) => (
    <a key={it} href={address(it)}>
      {it}
    </a>
  ));
  return (
    <>
      <h2>Details</h2>
      <Facts
        facts={[
          ["Version", agent.version || "built in"],
          ["Compare", agent.version > 1 && <a href={`${address(agent.version)}&compare=1`}>Changes</a>],
          ["Earlier", versions.length > 0 && <span class="names">{earlier}</span>],
          ["Updated", agent.updated_at && <Time at={agent.updated_at} />],
          ["Jobs", <a href={`/console/jobs?agent=${agent.name}`}>Show</a>],
        ]}
      />
    </>
  );
}

function AgentActions({ agent }: { agent: Agent }) {
  const params = { path: { name: agent.name } };
  return (
    <>
      {agent.version > 0 && (
        <DeleteButton
          question={`Delete the agent ${agent.name}?`}
          consequence="Submitted jobs keep it."
          action={() => call(api.DELETE("/v1/agents/{name}", { params }))}
          then={ABOVE.href}
        />
      )}
      <a class="button" href={`/console/new?agent=${agent.name}`}>
        Run a job
      </a>
    </>
  );
}
