/** Webhooks: where the service posts milestones. */

import { useState } from "preact/hooks";
import { allPages, api, call, type Schemas } from "../api.js";
import { words } from "../format.js";
import { useResource } from "../resource.js";
import { Dialog } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { Empty, Field, Page, Time } from "../ui/page.js";
import { fieldError, Loaded, ProblemBox } from "../ui/problem.js";
import { SecretDialog } from "../ui/secret.js";
import { Table } from "../ui/table.js";

export type Webhook = Schemas["Webhook"];

export function WebhooksPage() {
  const load = (cursor?: string) =>
    call(api.GET("/v1/webhooks", { params: { query: { limit: 100, ...(cursor ? { cursor } : {}) } } }));
  const resource = useResource("webhooks", () => allPages(load), { everyMs: 10_000 });
  const [isNew, setNew] = useState(false);
  const [secret, setSecret] = useState<string>();
  const button = (
    <button class="button is-accent" onClick={() => setNew(true)}>
      <Icon name="plus" />
      New webhook
    </button>
  );
  const created = (its: string) => {
    setNew(false);
    setSecret(its);
    void resource.reload();
  };
  return (
    <Page title="Webhooks" about="Addresses to which the service posts what happens to jobs." actions={button}>
      {isNew && <NewWebhook close={() => setNew(false)} created={created} />}
      {secret && (
        <SecretDialog title="The secret of the webhook" secret={secret} close={() => setSecret(undefined)}>
          The receiver checks signatures with it.
        </SecretDialog>
      )}
      <Loaded resource={resource}>
        {(webhooks) =>
          webhooks.length === 0 ? (
            <Empty icon="webhooks" title="No webhooks yet">
              <p>Instead of asking for jobs again and again, a program can be told when they end.</p>
              {button}
            </Empty>
          ) : (
            <Table
              rows={webhooks}
              keyOf={({ id }) => id}
              columns={[
                {
                  name: "Address",
                  cell: (it) => <a href={`/console/webhooks/${it.id}`}>{it.url}</a>,
                  isWrapping: true,
                },
                { name: "State", cell: (it) => <WebhookState webhook={it} /> },
                {
                  name: "Since",
                  cell: (it) => {
                    const since = it.status === "active" ? it.failing_since : it.disabled_at;
                    return since ? <Time at={since} /> : <span class="none">–</span>;
                  },
                  isNumber: true,
                },
                { name: "Events", cell: (it) => it.events.join(", "), isOptional: true, isWrapping: true },
                {
                  name: "Last success",
                  cell: (it) => (it.last_success_at ? <Time at={it.last_success_at} /> : <span class="none">–</span>),
                  isNumber: true,
                  isOptional: true,
                },
              ]}
            />
          )
        }
      </Loaded>
    </Page>
  );
}

export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { status, failing_since: failing, disabled_reason: reason } = webhook;
  if (status !== "active")
    return <span class="tag is-bad">{reason ? `disabled: ${words(reason)}` : words(status)}</span>;
  if (failing) return <span class="status is-failed">failing</span>;
  return (
    <span class="status is-completed">
      <Icon name="check" />
      active
    </span>
  );
}

function NewWebhook({ close, created }: { close: () => void; created: (secret: string) => void }) {
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const [error, setError] = useState<unknown>();
  const save = async (event: Event) => {
    event.preventDefault();
    setError(undefined);
    try {
      created((await call(api.POST("/v1/webhooks", { body: { url, description } }))).secret);
    } catch (failure) {
      setError(failure);
    }
  };
  return (
    <Dialog title="New webhook" close={close}>
      <form class="stack" onSubmit={save}>
        <Field label="Address" error={fieldError(error, "/url")} hint="An https address that the service reaches.">
          <input
            class="control"
            type="url"
            placeholder="https://example.com/skillet"
            value={url}
            onInput={({ currentTarget }) => setUrl(currentTarget.value)}
            required
          />
        </Field>
        <Field label="Note" error={fieldError(error, "/description")}>
          <input
            class="control"
            value={description}
            onInput={({ currentTarget }) => setDescription(currentTarget.value)}
          />
        </Field>
        <ProblemBox error={error} />
        <div class="row is-end">
          <button class="button is-accent">Create</button>
        </div>
      </form>
    </Dialog>
  );
}
