-- What a tenant may hand in. Only a tenant with a row is counted.
create table submit_limit (
    tenant_id uuid primary key references tenant,
    -- Jobs that have not ended.
    max_queued integer check (max_queued > 0),
    -- Jobs that come in a minute, and how many of them may come at once.
    per_minute integer check (per_minute > 0),
    burst integer check (burst > 0),
    -- When as many as `burst` may come at once again: a job moves it by what it takes of the minute.
    full_at timestamptz not null default now(),
    -- Jobs that may come before someone has to count again: ends of jobs only make it more.
    room integer not null default 0 check (room >= 0),
    -- When the last count found too little room.
    no_room_at timestamptz not null default 'epoch',
    constraint submit_limit_rate check ((per_minute is null) = (burst is null))
) with (fillfactor = 50);

-- Whether the tenant has such a limit, so that only its jobs are in the index that is counted.
alter table run add column counted boolean not null default false;
create index run_counted on run (tenant_id) where counted;

-- A batch has one key for all of its jobs, in their order; `job_id` is the first of them then.
alter table idempotency_key add column job_ids uuid[];

-- What some worker does for all of them now and then: who begins moves `begun_at`, and the others leave it.
create table chore (
    name text primary key,
    begun_at timestamptz not null default 'epoch',
    -- Which part of the work is next, for those that do a part at a time.
    position integer not null default 0
);

insert into chore (name) values ('upkeep'), ('retention'), ('blobs');

-- When the asset was made, or was last an input of a new job, give or take ten minutes.
alter table asset add column used_at timestamptz not null default now();

create index asset_upload on asset (used_at) where visible and job_id is null;
create index asset_unseen on asset (created_at) where not visible;

-- Logs of jobs that are gone. They go with their week, or, if that has to stay because of others, one by one.
create table forgotten_log (
    job_id uuid primary key
);

create index api_key_revoked on api_key (revoked_at) where revoked_at is not null;

-- The partitions of whole weeks, with the ids that belong into each.
create view event_week as
    select relname::text as partition, first_job_id(week) as first_id, first_job_id(week + interval '7 days') as end_id
    from (
        select relname, to_date(right(relname, 7), 'IYYY_IW')::timestamp at time zone 'utc' as week
        from pg_inherits
        join pg_class on pg_class.oid = inhrelid
        where inhparent = 'job_event'::regclass and relname ~ '^job_event_[0-9]{4}_[0-9]{2}$'
    ) as weeks;

-- A fifth, as is the default, of tables that hold a month is much to clean up at once. (The queue's and the workers' rows
-- change all the time and are few, and logs never change; a fillfactor for results beside their requests was not worth its room.)
alter table job set (autovacuum_vacuum_scale_factor = 0.02);
alter table asset set (autovacuum_vacuum_scale_factor = 0.02);
alter table approval set (autovacuum_vacuum_scale_factor = 0.02);
