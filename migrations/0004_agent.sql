-- Who models are to be: each tenant's agents, by name.
create table agent (
    tenant_id uuid not null references tenant,
    name text not null,
    -- The newest. It goes on growing when the name is used again, so that a version means one thing for ever.
    version integer not null,
    created_at timestamptz not null default now(),
    -- Set when the agent was deleted. The row stays for the count, the versions for the jobs that ran them.
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

-- Null for a skill's job. What the version was stands in the request.
alter table job add column agent_version integer;

-- Whether its commands may reach hosts, so that a worker which can give them none leaves it alone. A skill's
-- job has this from its skill.
alter table run add column needs_network boolean not null default false;

-- Histories that successive jobs of an agent share. What was said stands in the logs of the jobs, and nowhere else.
create table conversation (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    agent text not null,
    metadata json not null,
    -- The place of the job that joined last. Whoever joins holds this row, so places are in the order of the commits.
    last_place integer not null default 0,
    created_at timestamptz not null default now()
);

create index conversation_tenant on conversation (tenant_id, id desc);

alter table job
    add column conversation_id uuid,
    -- Among the jobs of the conversation, in the order in which they were accepted.
    add column place integer,
    add constraint job_place check ((conversation_id is null) = (place is null));

create unique index job_conversation on job (conversation_id, place) where conversation_id is not null;

-- A run behind another of its conversation. The one that ends makes the next ready.
alter type run_state add value 'blocked';

alter table run
    add column conversation_id uuid,
    add column place integer,
    add constraint run_place check ((conversation_id is null) = (place is null));

create index run_line on run (conversation_id, place) where conversation_id is not null;

-- Never two at once: at most one run of a conversation is not blocked. (The new state cannot be named in the
-- transaction that adds it.)
create unique index run_turn on run (conversation_id)
    where conversation_id is not null and state in ('scheduled', 'ready', 'running', 'waiting');
