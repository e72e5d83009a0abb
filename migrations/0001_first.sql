-- The first schema. ARCHITECTURE.md says what each table is for; here stands what the columns mean.

create type key_scope as enum ('jobs', 'admin');

create type run_state as enum (
    'scheduled', -- not before run_at
    'ready',     -- the next free slot may take it
    'running',   -- a worker holds the lease
    'waiting'    -- nothing to do until a person answers
);

create type job_outcome as enum ('completed', 'failed', 'cancelled');

create table tenant (
    id uuid primary key,
    name text not null constraint tenant_name_key unique,
    created_at timestamptz not null default now()
);

create table api_key (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    name text not null,
    -- SHA-256 of the key; the key has 256 random bits, so a slow hash would add nothing.
    hash bytea not null constraint api_key_hash_key unique,
    -- The last four characters, for people to tell keys apart.
    hint text not null,
    scopes key_scope[] not null check (cardinality(scopes) > 0),
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);

create index api_key_tenant on api_key (tenant_id);

-- Bytes live in the asset store under their SHA-256; this says who sees them, and under which name.
create table asset (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    -- The job that made it, or that it was sent along with. Null for an upload of its own.
    job_id uuid,
    name text not null,
    content_type text not null,
    size bigint not null check (size >= 0),
    sha256 bytea not null check (octet_length(sha256) = 32),
    -- False until the log entry that announces it is committed: what a superseded worker uploads
    -- is never seen.
    visible boolean not null,
    created_at timestamptz not null default now()
);

create index asset_job on asset (job_id) where job_id is not null;
create index asset_sha256 on asset (sha256);

-- The request and the result: written when the job is accepted and when it ends, never between.
create table job (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    skill text,
    agent text,
    model text not null,
    request json not null,
    metadata json not null,
    retry_of uuid,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    outcome job_outcome,
    result json,
    constraint job_skill_xor_agent check ((skill is null) <> (agent is null)),
    constraint job_ends_whole check (
        (outcome is null) = (finished_at is null) and (outcome is null) = (result is null)
    )
);

create index job_tenant on job (tenant_id, id desc);

-- The hot row of an unfinished job; deleted in the statement that writes the result.
create table run (
    job_id uuid primary key,
    tenant_id uuid not null,
    skill text,
    state run_state not null,
    -- run_at minus a minute for each step of priority: the order of the claim, ageing by itself.
    rank timestamptz not null,
    run_at timestamptz not null,
    worker_id uuid,
    -- Grows with each change of hands; every write for the job names it.
    lease bigint not null default 0,
    -- How many workers have had a go.
    attempt integer not null default 0,
    last_seq bigint not null,
    started_at timestamptz,
    claimed_at timestamptz,
    -- Time with workers before this attempt: the loop's clock goes on where it stood.
    spent interval not null default '0',
    cancel_requested boolean not null default false,
    -- What ended earlier attempts, counted apart: only crashes and failures use a job up.
    crashes smallint not null default 0,
    drains smallint not null default 0,
    model_outages smallint not null default 0,
    failures smallint not null default 0,
    constraint run_worker check ((state = 'running') = (worker_id is not null))
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

create index run_ready on run (rank) where state = 'ready';
create index run_scheduled on run (run_at) where state = 'scheduled';
create index run_worker on run (worker_id) where state = 'running';

create table worker (
    id uuid primary key,
    -- Host and process, for people.
    name text not null,
    -- The data directory on its host. Whoever holds that directory alone may declare the others dead.
    home text not null,
    version text not null,
    slots integer not null check (slots > 0),
    programs text[] not null,
    skills text[] not null,
    -- Providers of models whose key it has.
    providers text[] not null,
    started_at timestamptz not null default now(),
    heartbeat_at timestamptz not null default now(),
    draining boolean not null default false,
    stopped_at timestamptz
) with (fillfactor = 50);

create index worker_alive on worker (id) where stopped_at is null;

create table idempotency_key (
    tenant_id uuid not null,
    key text not null,
    -- SHA-256 of the request that came with the key.
    digest bytea not null,
    job_id uuid not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, key)
);

create index idempotency_key_job on idempotency_key (job_id);
create index idempotency_key_created on idempotency_key (created_at);

-- The log. `json`, not `jsonb`: an event is replayed byte for byte. A job id is a UUIDv7, so a range
-- of ids is a span of time, and forgetting a week is dropping its partition.
create table job_event (
    job_id uuid not null,
    seq bigint not null,
    type text not null,
    at timestamptz not null,
    attempt integer not null,
    data json not null,
    primary key (job_id, seq)
) partition by range (job_id);

-- Jobs whose id lies outside every week (a host whose clock is far off).
create table job_event_other partition of job_event default;

create function first_job_id(at timestamptz) returns uuid
language sql immutable strict
return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

-- Makes the partitions of this week and the next two, if they are not there.
create function ensure_event_partitions() returns void
language plpgsql as $$
declare
    week timestamptz;
    partition text;
begin
    for step in 0..2 loop
        week := date_trunc('week', now() at time zone 'utc') at time zone 'utc' + step * interval '7 days';
        partition := 'job_event_' || to_char(week at time zone 'utc', 'IYYY_IW');
        if to_regclass(partition) is null then
            -- Two processes may start at once.
            perform pg_advisory_xact_lock(hashtext('ensure_event_partitions'));
            execute format(
                'create table if not exists %I partition of job_event for values from (%L) to (%L)',
                partition, first_job_id(week), first_job_id(week + interval '7 days')
            );
        end if;
    end loop;
end $$;

select ensure_event_partitions();
