/** The page of the tenants: their shares, budgets and submission limits, for administrators. */

import { useState } from "preact/hooks";
import { allPages, api, call, type Schemas } from "../api.js";
import { count } from "../format.js";
import { useResource } from "../resource.js";
import { TextField } from "../ui/fields.js";
import { ListPage } from "../ui/list.js";
import { attempt } from "../ui/notice.js";
import { Time } from "../ui/page.js";
import { TenantDialog } from "./tenant_dialog.js";

type Tenant = Schemas["Tenant"];

const POLL_MS = 30_000;

export function TenantsPage() {
  const resource = useResource("tenants", () =>
    allPages((query) => call(api.GET("/v1/tenants", { params: { query } }))),
  );
  const [name, setName] = useState("");
  const [edited, setEdited] = useState<Tenant>();
  const create = async (event: Event) => {
    event.preventDefault();
    if (await attempt(() => call(api.POST("/v1/tenants", { body: { name } })), `Created ${name}`)) setName("");
    await resource.reload();
  };
  return (
    <ListPage
      title="Tenants"
      about="Each has its own jobs, files, keys and share of the workers."
      resource={resource}
      keyOf={({ id }) => id}
      columns={[
        { name: "Tenant", cell: (it) => <b>{it.name}</b> },
        { name: "Weight", cell: (it) => it.weight, isNumber: true, isOptional: true },
        {
          name: "Max. running",
          cell: (it) => it.max_running ?? <span class="none">no limit</span>,
          isNumber: true,
          isOptional: true,
        },
        { name: "Spent this month", cell: (it) => <Spent tenant={it.id} />, isNumber: true },
        { name: "Created", cell: (it) => <Time at={it.created_at} />, isNumber: true, isOptional: true },
        {
          name: "Actions",
          cell: (it) => (
            <button class="button small is-quiet" onClick={() => setEdited(it)}>
              Edit
            </button>
          ),
          isNumber: true,
        },
      ]}
    >
      <form class="inline-form" onSubmit={create}>
        <TextField label="Name" value={name} set={setName} required />
        <button class="button is-accent">Create</button>
      </form>
      {edited && (
        <TenantDialog
          tenant={edited}
          close={() => {
            setEdited(undefined);
            void resource.reload();
          }}
        />
      )}
    </ListPage>
  );
}

export function useBudget(tenant: string) {
  const params = { path: { tenant_id: tenant } };
  const load = () => call(api.GET("/v1/tenants/{tenant_id}/budget", { params }));
  return useResource(`budget:${tenant}`, load, { everyMs: POLL_MS });
}

function Spent({ tenant }: { tenant: string }) {
  const budget = useBudget(tenant).data.value;
  if (!budget) return <span class="none">–</span>;
  const { spent, max_cost_usd: most } = budget;
  const dollars = `$${spent.cost_usd.toFixed(2)}${most === null ? "" : ` of $${most.toFixed(2)}`}`;
  return (
    <span class="slots">
      {most !== null && <meter min={0} max={most} value={spent.cost_usd} aria-label="Share of the budget" />}
      {dollars} <span class="none is-optional">{count(spent.tokens)} tokens</span>
    </span>
  );
}
