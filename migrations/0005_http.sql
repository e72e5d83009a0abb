-- What the HTTP interface shows and finds: titles, references of clients, sessions of browsers and short-lived tokens.

alter table job
    -- The client's, or the first line of the prompt.
    add column title text not null default '',
    -- The beginning of the prompt, so that a list reads no request.
    add column prompt_preview text not null default '',
    -- The client's own reference. Several jobs may have the same, as a retry does.
    add column external_id text;

create index job_external_id on job (tenant_id, external_id, id desc) where external_id is not null;
-- Most jobs have no metadata and pay nothing for it.
create index job_metadata on job using gin ((metadata::jsonb) jsonb_path_ops) where metadata::text <> '{}';

alter table conversation add column external_id text;
create unique index conversation_external_id on conversation (tenant_id, external_id) where external_id is not null;

create index asset_tenant on asset (tenant_id, id desc) where visible;

-- The keys that are not revoked, each with the checks that its tenant needs: most tenants need none of them.
create view presented_key as
select
    id,
    hash,
    tenant_id,
    name,
    scopes,
    exists (
        select from tenant_budget as budget
        where budget.tenant_id = api_key.tenant_id
          and (budget.max_total_tokens is not null or budget.max_cost is not null)
    ) as has_budget,
    exists (
        select from submit_limit as own
        where own.tenant_id = api_key.tenant_id and (own.max_queued is not null or own.per_minute is not null)
    ) as has_submit_limit,
    exists (select from skill where skill.tenant_id = api_key.tenant_id) as has_skills
from api_key
where revoked_at is null;

-- Browsers that hold a cookie in place of a key. A revoked key ends its sessions.
create table session (
    -- SHA-256 of the cookie, which has 256 random bits.
    hash bytea primary key check (octet_length(hash) = 32),
    key_id uuid not null references api_key on delete cascade,
    created_at timestamptz not null default now(),
    -- Exact to a minute.
    used_at timestamptz not null default now()
);

create index session_key on session (key_id);

-- Tokens that may read one job and its files, for the users of a tenant's own product.
create table job_token (
    -- SHA-256 of the token, which has 256 random bits.
    hash bytea primary key check (octet_length(hash) = 32),
    -- The key that made it. A revoked key ends its tokens.
    key_id uuid not null references api_key on delete cascade,
    job_id uuid not null,
    expires_at timestamptz not null
);

create index job_token_key on job_token (key_id);
create index job_token_expiry on job_token (expires_at);
