-- Webhooks: milestones of jobs that are posted to addresses of the tenant.

create table webhook (
    id uuid primary key,
    tenant_id uuid not null references tenant on delete cascade,
    -- Where it posts. If `is_of_jobs`, the origin of the URLs of jobs, which share its limits; it is not listed.
    url text not null,
    is_of_jobs boolean not null default false,
    description text not null default '',
    events text[] not null,
    -- Only jobs of one of these; of all if both are empty.
    skills text[] not null default '{}',
    agents text[] not null default '{}',
    include_job boolean not null default false,
    status text not null default 'active' check (status in ('active', 'paused', 'disabled')),
    disabled_reason text check (disabled_reason in ('gone', 'failing')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    constraint webhook_disabled check ((status = 'disabled') = (disabled_reason is not null))
);

create index webhook_tenant on webhook (tenant_id, id desc) where not is_of_jobs;
create unique index webhook_origin on webhook (tenant_id, url) where is_of_jobs;

-- What changes with each delivery of a webhook. Its row is locked before those of deliveries.
create table webhook_state (
    webhook_id uuid primary key references webhook on delete cascade,
    -- Failed attempts since the last success.
    failures integer not null default 0,
    failing_since timestamptz,
    last_success_at timestamptz,
    -- When a delivery may be due. Null if none waits.
    next_at timestamptz
) with (fillfactor = 50);

create index webhook_state_next on webhook_state (next_at) where next_at is not null;

-- The webhook that a job brought along.
create table job_webhook (
    job_id uuid primary key references job on delete cascade,
    webhook_id uuid not null references webhook on delete cascade,
    url text not null,
    events text[] not null
);

create index job_webhook_webhook on job_webhook (webhook_id);

-- Secrets that sign deliveries, encrypted by a master key for their id.
create table webhook_secret (
    id uuid primary key,
    tenant_id uuid not null references tenant on delete cascade,
    -- Null for the secret of the webhooks of the tenant's jobs.
    webhook_id uuid references webhook on delete cascade,
    ciphertext bytea not null,
    nonce bytea not null,
    key_id text not null,
    created_at timestamptz not null default now(),
    -- Null for the current one. An earlier one signs along until then.
    expires_at timestamptz
);

create unique index webhook_secret_current on webhook_secret (webhook_id) where expires_at is null and webhook_id is not null;
create unique index webhook_secret_default on webhook_secret (tenant_id) where expires_at is null and webhook_id is null;
create index webhook_secret_webhook on webhook_secret (webhook_id);
create index webhook_secret_tenant on webhook_secret (tenant_id);

create table webhook_delivery (
    id uuid primary key,
    webhook_id uuid not null references webhook on delete cascade,
    -- The event. A test has no job.
    job_id uuid references job on delete cascade,
    seq bigint,
    type text not null,
    at timestamptz not null default now(),
    -- The status of the job when the event was committed.
    job_status text,
    -- Where to post, if that is not the URL of the webhook.
    url text,
    state text not null default 'pending' check (state in ('pending', 'delivered', 'dead')),
    attempts smallint not null default 0,
    -- When the next attempt is due. While one is made: when another worker may make it.
    due_at timestamptz not null default now(),
    -- Names the attempt that is made; only it may store its result.
    claim uuid,
    last_at timestamptz,
    last_status smallint,
    last_ms integer,
    last_error text,
    last_response text,
    created_at timestamptz not null default now(),
    constraint webhook_delivery_event unique (webhook_id, job_id, seq),
    constraint webhook_delivery_job check ((job_id is null) = (seq is null))
) with (fillfactor = 70);

create index webhook_delivery_due on webhook_delivery (webhook_id, due_at) where state = 'pending';
create index webhook_delivery_claimed on webhook_delivery (webhook_id) where claim is not null;
create index webhook_delivery_webhook on webhook_delivery (webhook_id, id desc);
create index webhook_delivery_job on webhook_delivery (job_id, id desc) where job_id is not null;
create index webhook_delivery_test on webhook_delivery (created_at) where job_id is null;

-- All milestones up to here have their deliveries.
create table webhook_cursor (
    id boolean primary key default true check (id),
    -- The epoch of the feed.
    epoch integer not null,
    txid bigint not null,
    job_id uuid not null,
    seq bigint not null
);

insert into webhook_cursor (epoch, txid, job_id, seq)
select epoch, feed_horizon(), '00000000-0000-0000-0000-000000000000', 0 from feed_state;
