-- Types, tables and indexes. migrations/schema.sql has the whole schema in one file.

create type key_scope as enum ('jobs', 'admin');

create type run_state as enum (
    'scheduled', -- not before run_at
    'ready',     -- the next free slot may take it
    'running',   -- a worker holds the lease
    'waiting',   -- waits for the decision of a person
    'blocked'    -- behind another run of its conversation; the run that ends makes the next one ready
);

create type job_outcome as enum ('completed', 'failed', 'cancelled');

create type approval_status as enum ('pending', 'approved', 'denied', 'expired', 'cancelled');

-- The state of a lane, which is the part of the queue that belongs to one tenant.
create type lane_state as enum (
    'empty',     -- no ready job
    'ready',     -- may have a job to claim
    'at_cap',    -- as many jobs run as the tenant's cap allows
    'unrunnable' -- has ready jobs, but their skill is paused or no live worker has what they need
);

create table tenant (
    id uuid primary key,
    name text not null constraint tenant_name_key unique,
    created_at timestamptz not null default now(),
    -- Its share of the workers' time, relative to the weights of the others.
    weight integer not null default 1 constraint tenant_weight check (weight between 1 and 1000),
    -- How many of its jobs may run at once. Null means no cap.
    max_running integer constraint tenant_max_running check (max_running >= 0),
    lane lane_state not null default 'empty',
    -- The logarithm of the worker time that it used recently, divided by its weight, plus the clock. Use decays by a
    -- factor e in a minute. All tenants decay alike, so the order of those that use nothing does not change, and their
    -- rows need no update.
    virtual_time double precision not null default 0,
    -- Breaks ties of virtual_time: the tenant that was served longer ago goes first.
    charged_at timestamptz not null default '-infinity'
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

create index tenant_ready on tenant (virtual_time, charged_at) where lane = 'ready';
create index tenant_at_cap on tenant (id) where lane = 'at_cap';

create table api_key (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    name text not null,
    -- SHA-256 of the key. The key has 256 random bits, so a slow hash would add nothing.
    hash bytea not null constraint api_key_hash_key unique,
    -- The last four characters, for people to tell keys apart.
    hint text not null,
    scopes key_scope[] not null check (cardinality(scopes) > 0),
    created_at timestamptz not null default now(),
    revoked_at timestamptz
);

create index api_key_tenant on api_key (tenant_id);
create index api_key_revoked on api_key (revoked_at) where revoked_at is not null;

-- The asset store has the bytes, under their SHA-256. A row says who sees them and under which name.
create table asset (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    -- The job that made it or was submitted with it. Null for an upload.
    job_id uuid,
    name text not null,
    content_type text not null,
    size bigint not null check (size >= 0),
    sha256 bytea not null check (octet_length(sha256) = 32),
    -- False until the event that announces it is committed, so that uploads of a superseded worker are never visible.
    visible boolean not null,
    created_at timestamptz not null default now(),
    -- When it was made or was last an input of a new job, within ten minutes.
    used_at timestamptz not null default now()
) with (autovacuum_vacuum_scale_factor = 0.02);

create index asset_job on asset (job_id) where job_id is not null;
create index asset_sha256 on asset (sha256);
create index asset_upload on asset (used_at) where visible and job_id is null;
create index asset_unseen on asset (created_at) where not visible;

-- Values that a tenant's skills may use. A value exists only as ciphertext; its master key is in no database.
create table secret (
    tenant_id uuid not null references tenant,
    name text not null,
    -- AES-256-GCM with its tag. Tenant, name and key are authenticated with it, so a copied row does not decrypt.
    ciphertext bytea not null,
    nonce bytea not null check (octet_length(nonce) = 12),
    -- The master key: the first bytes of its SHA-256, in hexadecimal.
    key_id text not null,
    created_at timestamptz not null default now(),
    -- When the value was last set. Encrypting the same value with another key does not count.
    updated_at timestamptz not null default now(),
    primary key (tenant_id, name)
);

create table agent (
    tenant_id uuid not null references tenant,
    name text not null,
    -- The newest version. It continues when the name is used again, so that a version always means the same settings.
    version integer not null,
    created_at timestamptz not null default now(),
    -- Set when the agent was deleted. The row stays for the version counter, the versions for the jobs that ran them.
    deleted_at timestamptz,
    primary key (tenant_id, name)
);

create table agent_version (
    tenant_id uuid not null,
    name text not null,
    version integer not null check (version > 0),
    settings json not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, name, version),
    foreign key (tenant_id, name) references agent
);

-- Skills that tenants have uploaded. One of them takes precedence over a built-in skill of the same name.
create table skill (
    tenant_id uuid not null references tenant,
    name text not null,
    -- The newest version. It continues when the name is used again, so that a version always means the same files.
    version integer not null,
    created_at timestamptz not null default now(),
    -- Set when the skill was deleted. The row stays for the version counter.
    deleted_at timestamptz,
    primary key (tenant_id, name)
);

-- A version exists while it is the newest or a job refers to it.
create table skill_version (
    tenant_id uuid not null,
    name text not null,
    version integer not null check (version > 0),
    -- In order of upload, over all tenants: workers look for the programs of the versions that are new to them.
    number bigint generated always as identity,
    -- SHA-256 of its files in canonical form, which the asset store has under this hash.
    digest bytea not null check (octet_length(digest) = 32),
    -- Its SKILL.md, so that its parameters can be read without unpacking the files.
    document text not null,
    -- Programs that must be installed; `|` separates alternatives.
    needs text[] not null,
    needs_network boolean not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, name, version),
    foreign key (tenant_id, name) references skill
);

create index skill_version_digest on skill_version (digest);
create unique index skill_version_number on skill_version (number);

-- A history that successive jobs of an agent share. The messages are in the logs of the jobs and nowhere else.
create table conversation (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    agent text not null,
    metadata json not null,
    -- The position of the newest job. A job that joins locks this row, so positions are in the order of the commits.
    last_position integer not null default 0,
    created_at timestamptz not null default now()
);

create index conversation_tenant on conversation (tenant_id, id desc);

-- The request of a job: inserted when the job is accepted and not updated afterwards.
--
-- The tenant is no foreign key: the check would lock the tenant's row for each job, and the API key has already
-- proved that the tenant exists. Tenants are never deleted.
create table job (
    id uuid primary key,
    tenant_id uuid not null,
    skill text,
    -- The version of an uploaded skill; null for all others.
    skill_version integer,
    -- The skill's digest when the job was accepted.
    skill_digest bytea,
    agent text,
    agent_version integer,
    conversation_id uuid,
    -- Its position among the jobs of the conversation, in the order in which they were accepted.
    position integer,
    model text not null,
    request json not null,
    metadata json not null,
    retry_of uuid,
    created_at timestamptz not null,
    constraint job_skill_xor_agent check ((skill is null) <> (agent is null)),
    constraint job_position check ((conversation_id is null) = (position is null)),
    constraint job_skill_version foreign key (tenant_id, skill, skill_version) references skill_version
) with (autovacuum_vacuum_scale_factor = 0.02);

create index job_tenant on job (tenant_id, id desc);
create unique index job_conversation on job (conversation_id, position) where conversation_id is not null;
create index job_skill_version on job (tenant_id, skill, skill_version) where skill_version is not null;

-- The result of a job. A row of its own, because an update of the wide `job` row took most of the time of ending a job
-- and left a dead row.
create table job_end (
    job_id uuid primary key,
    outcome job_outcome not null,
    started_at timestamptz,
    finished_at timestamptz not null,
    result json not null,
    -- The skill's digest in the attempt that ended the job.
    skill_digest bytea
);

-- The state of an unfinished job, which changes often. The statement that writes the result deletes it.
create table run (
    job_id uuid primary key,
    tenant_id uuid not null,
    skill text,
    -- What an uploaded skill needs; null for all other jobs, which go by the worker's list of skills.
    needs text[],
    -- Whether its commands may reach hosts, so that only workers with a network claim it.
    needs_network boolean not null default false,
    conversation_id uuid,
    position integer,
    state run_state not null,
    -- run_at minus a minute for each step of priority: the order of the claim, which ages without updates.
    rank timestamptz not null,
    run_at timestamptz not null,
    worker_id uuid,
    -- Incremented when the job changes hands. Every write for the job names it.
    lease bigint not null default 0,
    -- The number of the current attempt.
    attempt integer not null default 0,
    last_seq bigint not null,
    started_at timestamptz,
    claimed_at timestamptz,
    -- The running time of earlier attempts. The job's timeout includes it.
    spent interval not null default '0',
    cancel_requested boolean not null default false,
    -- What ended earlier attempts, counted separately: only crashes and failures use up the job's attempts.
    crashes smallint not null default 0,
    drains smallint not null default 0,
    model_outages smallint not null default 0,
    failures smallint not null default 0,
    -- Attempts that ended because the worker's release could not read the job. While workers are updated one by one, a
    -- job of the newer release waits for a worker that can read it.
    unreadable smallint not null default 0,
    -- Whether the tenant has a limit on queued jobs. Only such runs are in the index that is counted.
    counts_toward_limit boolean not null default false,
    constraint run_worker check ((state = 'running') = (worker_id is not null)),
    constraint run_position check ((conversation_id is null) = (position is null))
) with (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);

-- Jobs of one kind need the same of a worker. A queue has few kinds and may have very many jobs of each.
create index run_ready on run
    (tenant_id, coalesce(skill, ''), coalesce(hash_array_extended(needs, 0), 0), needs_network, rank)
    where state = 'ready';
create index run_scheduled on run (run_at) where state = 'scheduled';
create index run_running on run (tenant_id, worker_id) where state = 'running';
create index run_waiting on run (job_id) where state = 'waiting';
-- `db::run::list_stalled` reads the newest of them each second.
create index run_blocked on run (job_id) where state = 'blocked';
create index run_conversation on run (conversation_id, position) where conversation_id is not null;
-- At most one run of a conversation is not blocked.
create unique index run_active_in_conversation on run (conversation_id)
    where conversation_id is not null and state in ('scheduled', 'ready', 'running', 'waiting');
-- Jobs that were cancelled while their worker released them, in any state.
create index run_missed_cancellation on run (job_id) where state <> 'running' and cancel_requested;
create index run_submit_limit on run (tenant_id) where counts_toward_limit;

-- Tool calls that need the approval of a person. The job's log has the question and the decision; this table finds it.
create table approval (
    id uuid primary key,
    tenant_id uuid not null,
    job_id uuid not null,
    -- The events that request and resolve it.
    requested_seq bigint not null,
    resolved_seq bigint,
    status approval_status not null default 'pending',
    -- When it counts as denied if nobody has decided.
    expires_at timestamptz not null,
    constraint approval_resolved check ((status = 'pending') = (resolved_seq is null))
) with (autovacuum_vacuum_scale_factor = 0.02);

create index approval_job on approval (job_id, requested_seq);
create index approval_tenant on approval (tenant_id, id desc);
create index approval_pending on approval (tenant_id, id desc) where status = 'pending';
create index approval_expiry on approval (expires_at) where status = 'pending';

create table worker (
    id uuid primary key,
    -- Host and process, for people.
    name text not null,
    -- The data directory on its host. A process that locks that directory may declare the others dead.
    home text not null,
    version text not null,
    slots integer not null check (slots > 0),
    programs text[] not null,
    -- What programs report as their versions, by name. Set some seconds after the worker has started.
    program_versions jsonb not null default '{}',
    skills text[] not null,
    -- Model providers whose key it has.
    providers text[] not null,
    -- How it isolates the commands of jobs.
    isolation text not null default 'off' check (isolation in ('namespaced', 'landlocked', 'off')),
    -- How it limits the memory of commands.
    memory_limit text not null default 'watched' check (memory_limit in ('enforced', 'watched')),
    started_at timestamptz not null default now(),
    heartbeat_at timestamptz not null default now(),
    draining boolean not null default false,
    stopped_at timestamptz
) with (fillfactor = 50);

create index worker_alive on worker (id) where stopped_at is null;

create table idempotency_key (
    tenant_id uuid not null,
    key text not null,
    -- SHA-256 of the request that used the key.
    digest bytea not null,
    job_id uuid not null,
    -- All jobs of a batch, in order; `job_id` is the first of them.
    job_ids uuid[],
    created_at timestamptz not null default now(),
    primary key (tenant_id, key)
);

create index idempotency_key_job on idempotency_key (job_id);
create index idempotency_key_created on idempotency_key (created_at);

-- Monthly budgets. A tenant without a row, or with neither limit, has no budget.
create table tenant_budget (
    tenant_id uuid primary key references tenant,
    max_total_tokens bigint check (max_total_tokens >= 0),
    -- In billionths of a dollar, like all amounts of money.
    max_cost bigint check (max_cost >= 0),
    -- The first day (UTC) of the month that the spent columns are about. In a later month they count as 0.
    month date not null,
    spent_tokens bigint not null default 0 check (spent_tokens >= 0),
    spent_cost bigint not null default 0 check (spent_cost >= 0),
    -- The sums of the tenant's reservations, of all months.
    reserved_tokens bigint not null default 0 check (reserved_tokens >= 0),
    reserved_cost bigint not null default 0 check (reserved_cost >= 0)
) with (fillfactor = 50);

-- The most that a model call in progress may use. Maintenance counts it as spent when its lease has ended.
create table budget_reservation (
    id uuid primary key,
    tenant_id uuid not null references tenant_budget,
    job_id uuid not null,
    lease bigint not null,
    tokens bigint not null check (tokens >= 0),
    cost bigint not null check (cost >= 0)
);

create index budget_reservation_tenant on budget_reservation (tenant_id);

-- Limits on what a tenant may submit. Only tenants with a row are limited.
create table submit_limit (
    tenant_id uuid primary key references tenant,
    -- The most unfinished jobs.
    max_queued integer check (max_queued > 0),
    -- The rate, and how many jobs may come at once.
    per_minute integer check (per_minute > 0),
    burst integer check (burst > 0),
    -- When a whole burst is allowed again. Each job moves it by its share of a minute.
    burst_full_at timestamptz not null default now(),
    -- Jobs that may be accepted before the next count. The end of a job only adds to it.
    room integer not null default 0 check (room >= 0),
    -- When the last count found too little room.
    no_room_at timestamptz not null default 'epoch',
    constraint submit_limit_rate check ((per_minute is null) = (burst is null))
) with (fillfactor = 50);

-- The state of the whole queue, in one row.
create table queue (
    id boolean primary key default true check (id),
    paused boolean not null default false
);

insert into queue default values;

-- Skills whose jobs no worker starts, for any tenant.
create table paused_skill (
    name text primary key,
    paused_at timestamptz not null default now()
);

-- Maintenance that one worker does for all. A worker that starts a task moves `started_at`; the others skip it then.
create table maintenance (
    name text primary key,
    started_at timestamptz not null default 'epoch',
    -- The next part of the work, for tasks that do one part at a time.
    position integer not null default 0
);

insert into maintenance (name) values ('cleanup'), ('retention'), ('blob_gc');
