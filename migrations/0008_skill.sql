-- Skills that tenants have uploaded, by name. One of them stands before what the service has of that name.
create table skill (
    tenant_id uuid not null references tenant,
    name text not null,
    -- The newest. It goes on growing when the name is used again, so that a version means one thing for ever.
    version integer not null,
    created_at timestamptz not null default now(),
    -- Set when the skill was deleted. The row stays for the count.
    deleted_at timestamptz,
    primary key (tenant_id, name)
);

-- A version is there while it is the newest, or a job has it.
create table skill_version (
    tenant_id uuid not null,
    name text not null,
    version integer not null check (version > 0),
    -- In the order in which they came, over all tenants: workers look for the programs of those that are new to them.
    number bigint generated always as identity,
    -- SHA-256 of its files in the one form in which the asset store has them, under this hash.
    digest bytea not null check (octet_length(digest) = 32),
    -- Its SKILL.md, so that nobody unpacks the files to see what it takes.
    document text not null,
    -- What must be installed, alternatives with `|` between them.
    needs text[] not null,
    needs_network boolean not null,
    created_at timestamptz not null default now(),
    primary key (tenant_id, name, version),
    foreign key (tenant_id, name) references skill
);

create index skill_version_digest on skill_version (digest);
create unique index skill_version_number on skill_version (number);

alter table job
    -- Of a skill that the tenant has uploaded; null for all others.
    add column skill_version integer,
    -- The skill's digest: when the job was accepted, and from its end on that of the attempt that ended it.
    add column skill_digest bytea,
    add constraint job_skill_version foreign key (tenant_id, skill, skill_version) references skill_version;

create index job_skill_version on job (tenant_id, skill, skill_version) where skill_version is not null;

-- What an uploaded skill needs of a worker. Null for all other jobs: those go by the worker's list of skills.
alter table run add column needs text[];

-- Whether programs are all that is needed. A function, and not in the language SQL, so that the planner does not look
-- into it: with a subquery for each row a claim looks so dear to it that it compiles the plan first (measured 36 ms
-- against 0.08 ms).
create function needs_met(needs text[], programs text[]) returns boolean
language plpgsql immutable strict parallel safe cost 10 as $$
begin
    return not exists (select from unnest(needs) as need where not string_to_array(need, '|') && programs);
end $$;
