/** The page of the API keys, for administrators. */

import { useState } from "preact/hooks";
import { allPages, api, call, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { me, restore } from "../session.js";
import { confirm } from "../ui/dialog.js";
import { TextField } from "../ui/fields.js";
import { ListPage } from "../ui/list.js";
import { attempt } from "../ui/notice.js";
import { Field, Time } from "../ui/page.js";
import { SecretDialog } from "../ui/secret.js";

/** The sets of scopes that the form offers. */
const CHOICES: { label: string; scopes: Schemas["Scope"][] }[] = [
  { label: "Jobs", scopes: ["jobs"] },
  { label: "Jobs and administration", scopes: ["jobs", "admin"] },
  { label: "Metrics only", scopes: ["metrics"] },
];

export function KeysPage() {
  const resource = useResource("keys", () => allPages((query) => call(api.GET("/v1/keys", { params: { query } }))));
  const [name, setName] = useState("");
  const [choice, setChoice] = useState(0);
  const [created, setCreated] = useState<string>();
  const create = async (event: Event) => {
    event.preventDefault();
    const body: Schemas["CreateKey"] = { name, scopes: CHOICES[choice]?.scopes ?? null };
    await attempt(async () => setCreated((await call(api.POST("/v1/keys", { body }))).token));
    setName("");
    await resource.reload();
  };
  const revoke = async ({ id, name: of }: Schemas["ApiKey"]) => {
    const isOwn = id === me.value?.key.id;
    const text = isOwn
      ? "You are signed in with this key and will be signed out."
      : "Programs that use it lose access immediately.";
    if (!(await confirm(`Revoke ${of}?`, text, "Revoke"))) return;
    const isDone = await attempt(
      () => call(api.DELETE("/v1/keys/{key_id}", { params: { path: { key_id: id } } })),
      "Revoked",
    );
    if (isDone && isOwn) await restore();
    else await resource.reload();
  };
  return (
    <ListPage
      title="API keys"
      about="A key is shown once, when it is created."
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        { name: "Name", cell: (it) => <b>{it.name}</b> },
        { name: "Key", cell: (it) => <code>…{it.hint}</code> },
        { name: "Scopes", cell: (it) => it.scopes.join(", "), isOptional: true },
        { name: "Created", cell: (it) => <Time at={it.created_at} />, isNumber: true, isOptional: true },
        {
          name: "Actions",
          cell: (it) => (
            <button class="button small is-quiet" onClick={() => void revoke(it)}>
              Revoke…
            </button>
          ),
          isNumber: true,
        },
      ]}
    >
      <form class="inline-form" onSubmit={create}>
        <TextField label="Name" placeholder="ci" value={name} set={setName} required />
        <Field label="Scopes">
          <select
            class="control"
            value={choice}
            onChange={({ currentTarget }) => setChoice(Number(currentTarget.value))}
          >
            {CHOICES.map(({ label }, index) => (
              <option key={label} value={index}>
                {label}
              </option>
            ))}
          </select>
        </Field>
        <button class="button is-accent">Create</button>
      </form>
      {created && (
        <SecretDialog title="The new key" secret={created} close={() => setCreated(undefined)}>
          Copy it now. It cannot be shown again.
        </SecretDialog>
      )}
    </ListPage>
  );
}
