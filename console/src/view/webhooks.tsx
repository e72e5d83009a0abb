/** The page of the webhooks. The service posts milestones to them. */

import { useState } from "preact/hooks";
import { allPages, api, call, type Schemas } from "../api.js";
import { words } from "../format.js";
import { useResource } from "../resource.js";
import { Dialog } from "../ui/dialog.js";
import { TextField } from "../ui/fields.js";
import { ListPage } from "../ui/list.js";
import { Empty, NewButton, Time } from "../ui/page.js";
import { fieldError, ProblemBox } from "../ui/problem.js";
import { SecretDialog } from "../ui/secret.js";
import { StatusBadge } from "../ui/status.js";
import { useSubmit } from "../ui/submit.js";

export type Webhook = Schemas["Webhook"];

export function WebhooksPage() {
  const load = () => allPages((query) => call(api.GET("/v1/webhooks", { params: { query } })));
  const resource = useResource("webhooks", load, { everyMs: 10_000 });
  const [isNew, setNew] = useState(false);
  const [secret, setSecret] = useState<string>();
  const button = <NewButton title="New webhook" onClick={() => setNew(true)} />;
  const created = (its: string) => {
    setNew(false);
    setSecret(its);
    void resource.reload();
  };
  return (
    <ListPage
      title="Webhooks"
      about="URLs to which the service sends events of jobs."
      actions={button}
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        {
          name: "URL",
          cell: (it) => <a href={`/console/webhooks/${it.id}`}>{it.url}</a>,
          isWrapping: true,
        },
        { name: "State", cell: (it) => <WebhookState webhook={it} /> },
        {
          name: "Since",
          cell: (it) => <Time at={it.status === "active" ? it.failing_since : it.disabled_at} />,
          isNumber: true,
          isOptional: true,
        },
        { name: "Note", cell: (it) => it.description, isOptional: true, isWrapping: true },
        { name: "Last success", cell: (it) => <Time at={it.last_success_at} />, isNumber: true, isOptional: true },
      ]}
      empty={
        <Empty icon="webhooks" title="No webhooks yet">
          <p>A webhook notifies your program when jobs end, so that it does not have to poll.</p>
          {button}
        </Empty>
      }
    >
      {isNew && <NewWebhook close={() => setNew(false)} created={created} />}
      {secret && (
        <SecretDialog title="The secret of the webhook" secret={secret} close={() => setSecret(undefined)}>
          The receiver needs it to verify signatures.
        </SecretDialog>
      )}
    </ListPage>
  );
}

export function WebhookState({ webhook }: { webhook: Webhook }) {
  const { status, failing_since: failing, disabled_reason: reason } = webhook;
  if (status === "disabled") return <StatusBadge status="failed" word={`disabled: ${words(reason ?? "")}`} />;
  if (status !== "active") return <StatusBadge status="waiting" word={words(status)} />;
  if (failing) return <StatusBadge status="failed" word="failing" />;
  return <StatusBadge status="completed" word="active" />;
}

function NewWebhook({ close, created }: { close: () => void; created: (secret: string) => void }) {
  const [url, setUrl] = useState("");
  const [description, setDescription] = useState("");
  const { submit, error } = useSubmit(async () =>
    created((await call(api.POST("/v1/webhooks", { body: { url, description } }))).secret),
  );
  return (
    <Dialog title="New webhook" close={close}>
      <form class="stack" onSubmit={submit}>
        <TextField
          label="URL"
          error={fieldError(error, "/url")}
          hint="An https URL that the service can reach."
          type="url"
          placeholder="https://example.com/skillet"
          value={url}
          set={setUrl}
          required
        />
        <TextField label="Note" error={fieldError(error, "/description")} value={description} set={setDescription} />
        <ProblemBox error={error} />
        <div class="row is-end">
          <button class="button is-accent">Create</button>
        </div>
      </form>
    </Dialog>
  );
}
