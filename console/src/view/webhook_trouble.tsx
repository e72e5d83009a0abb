/** The status of a failing or disabled webhook: reason, start and remedy. */

import { api, call } from "../api.js";
import { dateTime, until } from "../format.js";
import { Icon } from "../ui/icon.js";
import { attempt } from "../ui/notice.js";
import { Time } from "../ui/page.js";
import type { Webhook } from "./webhooks.js";

/** The time after which a webhook is disabled if all its attempts fail. */
const DISABLED_AFTER_MS = 5 * 86_400_000;

interface TroubleProps {
  webhook: Webhook;
  reload: () => Promise<void>;
}

export function WebhookTrouble({ webhook, reload }: TroubleProps) {
  if (webhook.status === "disabled") return <Disabled webhook={webhook} reload={reload} />;
  const since = webhook.failing_since;
  if (webhook.status !== "active" || !since) return null;
  const end = new Date(Date.parse(since) + DISABLED_AFTER_MS).toISOString();
  return (
    <div class="why" role="status">
      <Icon name="warning" />
      <div>
        <b>
          Failing since <Time at={since} />
        </b>
        <p class="fine">All attempts since then failed. If none succeeds, the webhook is disabled {until(end)}.</p>
      </div>
    </div>
  );
}

function Disabled({ webhook, reload }: TroubleProps) {
  const { id, disabled_reason: reason, disabled_at: at } = webhook;
  const since = webhook.last_success_at ?? webhook.created_at;
  const params = { path: { webhook_id: id } };
  const recover = async () => {
    await attempt(async () => {
      await call(api.PATCH("/v1/webhooks/{webhook_id}", { params, body: { status: "active" } }));
      await call(api.POST("/v1/webhooks/{webhook_id}/recover", { params, body: { since } }));
    }, "Resumed");
    await reload();
  };
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <b>Disabled {at && <Time at={at} />}</b>
        <p>{reason === "gone" ? "The receiver responded with 410 Gone." : "All attempts failed for five days."}</p>
        <p class="fine">
          Events are recorded but not delivered. Those that failed since {dateTime(since)} can be redelivered.
        </p>
      </div>
      <button class="button small" onClick={() => void recover()}>
        Resume and redeliver
      </button>
    </div>
  );
}
