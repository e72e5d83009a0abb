/** Secrets: names only. A value is never shown. */

import { useState } from "preact/hooks";
import { api, call } from "../api.js";
import { useResource } from "../resource.js";
import { confirm } from "../ui/dialog.js";
import { attempt } from "../ui/notice.js";
import { Empty, Field, Page, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { Table } from "../ui/table.js";
import { useAgents, useSkills } from "./job_filters.js";

export function SecretsPage() {
  const query = { limit: 100 };
  const resource = useResource("secrets", () => call(api.GET("/v1/secrets", { params: { query } })));
  const [name, setName] = useState("");
  const [value, setValue] = useState("");
  const path = (secret: string) => ({ path: { name: secret } });
  const save = async (event: Event) => {
    event.preventDefault();
    const put = () => call(api.PUT("/v1/secrets/{name}", { params: path(name), body: { value } }));
    if (!(await attempt(put, `Saved ${name}`))) return;
    setName("");
    setValue("");
    await resource.reload();
  };
  const remove = async (secret: string) => {
    if (!(await confirm(`Delete ${secret}?`, "Jobs that need it fail from now on.", "Delete"))) return;
    await attempt(() => call(api.DELETE("/v1/secrets/{name}", { params: path(secret) })), "Deleted");
    await resource.reload();
  };
  return (
    <Page
      title="Secrets"
      about="Values that skills and agents get as environment variables. They are encrypted and never shown again."
    >
      <form class="inline-form" onSubmit={save}>
        <Field label="Name">
          <input
            class="control"
            placeholder="GITHUB_TOKEN"
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
            required
          />
        </Field>
        <Field label="Value">
          <input
            class="control"
            type="password"
            autocomplete="off"
            value={value}
            onInput={(event) => setValue(event.currentTarget.value)}
            required
          />
        </Field>
        <button class="button is-accent">Save</button>
      </form>
      <Loaded resource={resource}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty icon="secrets" title="No secrets yet">
              <p>Add one above, under the name that the skill needs.</p>
            </Empty>
          ) : (
            <Table
              rows={data}
              keyOf={(it) => it.name}
              columns={[
                { name: "Name", cell: (it) => <code>{it.name}</code> },
                { name: "Needed by", cell: (it) => <NeededBy secret={it.name} />, isWrapping: true },
                { name: "Created", cell: (it) => <Time at={it.created_at} />, isOptional: true },
                { name: "Updated", cell: (it) => <Time at={it.updated_at} /> },
                {
                  name: "Actions",
                  cell: (it) => (
                    <button class="button small is-quiet" onClick={() => void remove(it.name)}>
                      Delete…
                    </button>
                  ),
                  isNumber: true,
                },
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

/** The skills and agents that get the secret. */
function NeededBy({ secret }: { secret: string }) {
  const skills = useSkills().data.value?.filter((it) => it.secrets.some(({ name }) => name === secret)) ?? [];
  const agents = useAgents().data.value?.filter((it) => it.secrets.includes(secret)) ?? [];
  const links = [
    ...skills.map(({ name }) => [`/console/skills/${name}`, name] as const),
    ...agents.map(({ name }) => [`/console/agents/${name}`, name] as const),
  ];
  if (links.length === 0) return <span class="none">–</span>;
  return (
    <span class="names">
      {links.map(([href, name]) => (
        <a href={href}>{name}</a>
      ))}
    </span>
  );
}
