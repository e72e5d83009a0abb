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
