-- What tenants may use up in a month. A tenant without a row, or with none of the two limits, has no budget.
create table tenant_budget (
    tenant_id uuid primary key references tenant,
    max_total_tokens bigint check (max_total_tokens >= 0),
    -- Billionths of a dollar, like all money here.
    max_cost bigint check (max_cost >= 0),
    -- The first day (UTC) of the month that the spent columns are about; in a later one they count as 0.
    month date not null,
    spent_tokens bigint not null default 0 check (spent_tokens >= 0),
    spent_cost bigint not null default 0 check (spent_cost >= 0),
    -- The sums of the tenant's reservations, in whichever month they were made.
    reserved_tokens bigint not null default 0 check (reserved_tokens >= 0),
    reserved_cost bigint not null default 0 check (reserved_cost >= 0)
) with (fillfactor = 50);

-- What a model call under way may use up at most. One whose lease is over is counted as spent by the next chore.
create table budget_reservation (
    id uuid primary key,
    tenant_id uuid not null references tenant_budget,
    job_id uuid not null,
    lease bigint not null,
    tokens bigint not null check (tokens >= 0),
    cost bigint not null check (cost >= 0)
);

create index budget_reservation_tenant on budget_reservation (tenant_id);
