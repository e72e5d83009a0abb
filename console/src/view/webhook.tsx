/** The page of one webhook with its deliveries. */

import { useRoute } from "preact-iso";
import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { ago, dateTime, duration, until, words } from "../format.js";
import { useResource } from "../resource.js";
import { confirm, DeleteButton } from "../ui/dialog.js";
import { Icon } from "../ui/icon.js";
import { attempt } from "../ui/notice.js";
import { Facts, Page, Split, Time } from "../ui/page.js";
import { Loaded } from "../ui/problem.js";
import { SecretDialog } from "../ui/secret.js";
import { WebhookTrouble } from "./webhook_trouble.js";
import { type Webhook, WebhookState } from "./webhooks.js";

type Delivery = Schemas["Delivery"];
const POLL_MS = 5000;
const ABOVE = { title: "Webhooks", href: "/console/webhooks" };

export function WebhookPage() {
  const id = useRoute().params["id"] ?? "";
  const params = { path: { webhook_id: id } };
  const load = () => call(api.GET("/v1/webhooks/{webhook_id}", { params }));
  const resource = useResource(`webhook:${id}`, load, { everyMs: POLL_MS });
  const query = { limit: 50 };
  const loadDeliveries = () => call(api.GET("/v1/webhooks/{webhook_id}/deliveries", { params: { ...params, query } }));
  const deliveries = useResource(`webhook:${id}:deliveries`, loadDeliveries, { on: () => true, everyMs: POLL_MS });
  const reload = async () => void (await Promise.all([resource.reload(), deliveries.reload()]));
  return (
    <Loaded resource={resource} above={ABOVE}>
      {(webhook) => (
        <Page
          title={webhook.url}
          above={ABOVE}
          heading={
            <>
              {webhook.url} <WebhookState webhook={webhook} />
            </>
          }
          about={webhook.description}
          actions={<Actions webhook={webhook} reload={reload} />}
        >
          <WebhookTrouble webhook={webhook} reload={reload} />
          <Split aside={<Details webhook={webhook} />}>
            <h2>Deliveries</h2>
            <Loaded resource={deliveries}>{({ data }) => <Deliveries deliveries={data} reload={reload} />}</Loaded>
          </Split>
        </Page>
      )}
    </Loaded>
  );
}

function Details({ webhook }: { webhook: Webhook }) {
  return (
    <>
      <h2>Details</h2>
      <Facts
        facts={[
          ["Events", webhook.events.join(", ")],
          ["Skills", webhook.skills.join(", ")],
          ["Agents", webhook.agents.join(", ")],
          ["Disabled", webhook.disabled_at && dateTime(webhook.disabled_at)],
          ["Failing since", webhook.failing_since && dateTime(webhook.failing_since)],
          ["Last success", <Time at={webhook.last_success_at} />],
          ["Created", <Time at={webhook.created_at} />],
        ]}
      />
    </>
  );
}

function Actions({ webhook, reload }: { webhook: Webhook; reload: () => Promise<void> }) {
  const [secret, setSecret] = useState<string>();
  const params = { path: { webhook_id: webhook.id } };
  const isActive = webhook.status === "active";
  const toggle = async () => {
    const body = { status: isActive ? "paused" : "active" } as const;
    await attempt(() => call(api.PATCH("/v1/webhooks/{webhook_id}", { params, body })), isActive ? "Paused" : "Active");
    await reload();
  };
  const test = async () => {
    await attempt(() => call(api.POST("/v1/webhooks/{webhook_id}/test", { params })), "Test sent");
    await reload();
  };
  const rotate = async () => {
    if (!(await confirm("Replace the secret?", "The old secret stays valid for 24 hours.", "Replace"))) return;
    await attempt(async () => setSecret((await call(api.POST("/v1/webhooks/{webhook_id}/rotate", { params }))).secret));
  };
  return (
    <>
      <DeleteButton
        question="Delete this webhook?"
        consequence="Its deliveries are deleted, too."
        action={() => call<unknown>(api.DELETE("/v1/webhooks/{webhook_id}", { params }))}
        then={ABOVE.href}
      />
      <button class="button is-quiet" onClick={() => void rotate()}>
        New secret…
      </button>
      <button class="button" onClick={() => void toggle()}>
        {isActive ? "Pause" : "Resume"}
      </button>
      <button class="button" onClick={() => void test()}>
        Send a test
      </button>
      {secret && (
        <SecretDialog title="The new secret" secret={secret} close={() => setSecret(undefined)}>
          The receiver needs it to verify signatures.
        </SecretDialog>
      )}
    </>
  );
}

function Deliveries({ deliveries, reload }: { deliveries: Delivery[]; reload: () => Promise<void> }) {
  if (deliveries.length === 0) return <p class="fine">No deliveries yet.</p>;
  return (
    <div class="deliveries framed">
      {deliveries.map((it) => (
        <DeliveryView key={it.id} delivery={it} reload={reload} />
      ))}
    </div>
  );
}

function DeliveryView({ delivery, reload }: { delivery: Delivery; reload: () => Promise<void> }) {
  const { id, status, type, attempts, last, next_at: next, job_id: job, webhook_id: webhook } = delivery;
  const params = { path: { webhook_id: webhook ?? "", delivery_id: id } };
  const redeliver = async () => {
    const act = () => call(api.POST("/v1/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", { params }));
    await attempt(act, "Sent again");
    await reload();
  };
  const isBad = status === "failed" || status === "dead";
  return (
    <details class={status === "delivered" ? "call is-ok" : isBad ? "call is-error" : "call"}>
      <summary class="call-head">
        <Icon name={status === "delivered" ? "check" : isBad ? "cross" : "clock"} />
        <span class="call-tool">{type}</span>
        <span class="call-what">{last?.status ?? last?.error ?? ""}</span>
        <span class="call-result">
          {words(status)} · {attempts === 1 ? "1 attempt" : `${attempts} attempts`}
          {next ? ` · next ${until(next)}` : ` · ${ago(delivery.created_at)}`}
        </span>
      </summary>
      <div class="call-body">
        <Facts
          facts={[
            ["Recorded", dateTime(delivery.created_at)],
            ["Event", delivery.event_id],
            ["Job", job && <a href={`/console/jobs/${job}`}>Open</a>],
            ["Last attempt", last && `${dateTime(last.at)}, took ${duration(last.ms)}`],
            ["Error", last?.error],
          ]}
        />
        {last?.response && <pre tabIndex={0}>{last.response}</pre>}
        <div class="row">
          <button class="button small" onClick={() => void redeliver()}>
            Send again
          </button>
        </div>
      </div>
    </details>
  );
}
