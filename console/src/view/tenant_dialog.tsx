/** The dialog in which an administrator changes the limits of a tenant. */

import { useState } from "preact/hooks";
import { api, call, type Schemas } from "../api.js";
import { useResource } from "../resource.js";
import { Dialog } from "../ui/dialog.js";
import { NumberField } from "../ui/fields.js";
import { notify } from "../ui/notice.js";
import { fieldError, Loaded, ProblemBox } from "../ui/problem.js";
import { useSubmit } from "../ui/submit.js";

type Tenant = Schemas["Tenant"];

/** All limits of a tenant. They come from three resources of the API. */
interface Limits {
  weight: number | null;
  max_running: number | null;
  max_cost_usd: number | null;
  max_total_tokens: number | null;
  max_queued: number | null;
}

export function TenantDialog({ tenant, close }: { tenant: Tenant; close: () => void }) {
  const params = { path: { tenant_id: tenant.id } };
  const resource = useResource(`limits:${tenant.id}`, async () => {
    const [budget, submission] = await Promise.all([
      call(api.GET("/v1/tenants/{tenant_id}/budget", { params })),
      call(api.GET("/v1/tenants/{tenant_id}/submission_limits", { params })),
    ]);
    return { budget, submission };
  });
  return (
    <Dialog title={`Limits of ${tenant.name}`} close={close}>
      <Loaded resource={resource}>
        {({ budget, submission }) => (
          <LimitsForm
            tenant={tenant}
            rate={submission.submit_rate}
            start={{
              weight: tenant.weight,
              max_running: tenant.max_running,
              max_cost_usd: budget.max_cost_usd,
              max_total_tokens: budget.max_total_tokens,
              max_queued: submission.max_queued,
            }}
            done={() => resource.reload().then(close)}
          />
        )}
      </Loaded>
    </Dialog>
  );
}

interface LimitsFormProps {
  tenant: Tenant;
  /** The submission rate, which the form does not change. */
  rate: Schemas["SubmitLimits"]["submit_rate"];
  start: Limits;
  done: () => Promise<void>;
}

function LimitsForm({ tenant, rate, start, done }: LimitsFormProps) {
  const [limits, setLimits] = useState(start);
  const params = { path: { tenant_id: tenant.id } };
  const { submit, error } = useSubmit(async () => {
    const { weight, max_running, max_cost_usd, max_total_tokens, max_queued } = limits;
    await call(api.PATCH("/v1/tenants/{tenant_id}", { params, body: { weight, max_running } }));
    const budget = { max_cost_usd, max_total_tokens };
    await call<unknown>(api.PUT("/v1/tenants/{tenant_id}/budget", { params, body: budget }));
    const submission = { max_queued, submit_rate: rate };
    await call<unknown>(api.PUT("/v1/tenants/{tenant_id}/submission_limits", { params, body: submission }));
    notify("Saved");
    await done();
  });
  const field = (name: keyof Limits, label: string, step: number | "any" = 1) => (
    <NumberField
      label={label}
      error={fieldError(error, `/${name}`)}
      value={limits[name]}
      step={step}
      set={(value) => setLimits({ ...limits, [name]: value })}
    />
  );
  return (
    <form class="stack" onSubmit={submit}>
      <p class="fine">An empty field means no limit.</p>
      <div class="two">
        {field("weight", "Weight")}
        {field("max_running", "Running jobs")}
        {field("max_cost_usd", "Cost per month in dollars", "any")}
        {field("max_total_tokens", "Tokens per month")}
        {field("max_queued", "Unfinished jobs")}
      </div>
      <ProblemBox error={error} />
      <div class="row is-end">
        <button class="button is-accent">Save</button>
      </div>
    </form>
  );
}
