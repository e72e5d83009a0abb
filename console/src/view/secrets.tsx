/** The page of the secrets. It shows names only, never values. */

import { useState } from "preact/hooks";
import { allPages, api, call } from "../api.js";
import { useResource } from "../resource.js";
import { confirm } from "../ui/dialog.js";
import { TextField } from "../ui/fields.js";
import { ListPage } from "../ui/list.js";
import { attempt } from "../ui/notice.js";
import { Empty, Time } from "../ui/page.js";
import { useAgents, useSkills } from "./job_filters.js";

export function SecretsPage() {
  const resource = useResource("secrets", () =>
    allPages((query) => call(api.GET("/v1/secrets", { params: { query } }))),
  );
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
    if (!(await confirm(`Delete ${secret}?`, "Jobs that need it will fail.", "Delete"))) return;
    await attempt(() => call(api.DELETE("/v1/secrets/{name}", { params: path(secret) })), "Deleted");
    await resource.reload();
  };
  return (
    <ListPage
      title="Secrets"
      about="Values that skills and agents get as environment variables. They are encrypted and never shown again."
      resource={resource}
      keyOf={(it) => it.name}
      columns={[
        { name: "Name", cell: (it) => <code>{it.name}</code> },
        { name: "Needed by", cell: (it) => <NeededBy secret={it.name} />, isWrapping: true },
        { name: "Created", cell: (it) => <Time at={it.created_at} />, isOptional: true },
        { name: "Updated", cell: (it) => <Time at={it.updated_at} />, isOptional: true },
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
      empty={
        <Empty icon="secrets" title="No secrets yet">
          <p>Add one above, under the name that the skill needs.</p>
        </Empty>
      }
    >
      <form class="inline-form" onSubmit={save}>
        <TextField label="Name" placeholder="GITHUB_TOKEN" value={name} set={setName} required />
        <TextField label="Value" type="password" autocomplete="off" value={value} set={setValue} required />
        <button class="button is-accent">Save</button>
      </form>
    </ListPage>
  );
}

/** The skills and agents that receive the secret. */
function NeededBy({ secret }: { secret: string }) {
  const skills = useSkills().data.value?.filter((it) => it.secrets.some(({ name }) => name === secret)) ?? [];
  const agents =
    useAgents().data.value?.filter((it) => it.secrets.some((name) => name.replace("?", "") === secret)) ?? [];
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
