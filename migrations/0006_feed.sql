-- The feed: the milestones of all jobs of a tenant. The stream of a tenant reads it.

-- Whether the events of the job go to the feed, too.
alter table run add column fed boolean not null default false;

-- A row a milestone, written by the statement that appends the event. A reader orders by (txid, job_id, seq) and reads
-- only what is before `feed_horizon()`: nothing can be committed there any more.
create table feed (
    tenant_id uuid not null,
    -- The transaction that wrote the event.
    txid bigint not null default pg_current_xact_id()::text::bigint,
    job_id uuid not null,
    seq bigint not null,
    type text not null,
    at timestamptz not null,
    -- The status of the job when the event was committed.
    status text not null,
    primary key (tenant_id, txid, job_id, seq)
) partition by range (job_id);

create index feed_txid on feed (txid);

-- Jobs whose week has no partition yet.
create table feed_other partition of feed default;

-- The tenants whose jobs go to the feed: they had a stream or a webhook within the last 30 days.
create table feed_tenant (
    tenant_id uuid primary key references tenant on delete cascade,
    used_at timestamptz not null default now(),
    -- All milestones from this transaction on are in the feed. Null until its unfinished jobs are marked.
    since bigint
);

create table feed_state (
    id boolean primary key default true check (id),
    -- Changes when the database is restored in another cluster, whose transactions have other numbers.
    epoch integer not null default 1,
    system_identifier bigint,
    -- Milestones before this transaction may be deleted.
    floor bigint not null default 0
);

insert into feed_state default values;

-- The oldest transaction that is not over yet, of all databases of the cluster.
create function feed_horizon() returns bigint
language sql stable
return pg_snapshot_xmin(pg_current_snapshot())::text::bigint;

-- Those of the tenants whose jobs go to the feed. In plpgsql its plan is kept, whatever the size of the array.
create function fed_tenants(tenants uuid[]) returns uuid[]
language plpgsql stable as $$
begin
    return array(select tenant_id from feed_tenant where tenant_id = any(tenants));
end $$;

-- The partitions of whole weeks, with the range of ids of each.
create view feed_week as
    select relname::text as partition, first_job_id(week) as first_id, first_job_id(week + interval '7 days') as end_id
    from (
        select relname, to_date(right(relname, 7), 'IYYY_IW')::timestamp at time zone 'utc' as week
        from pg_inherits
        join pg_class on pg_class.oid = inhrelid
        where inhparent = 'feed'::regclass and relname ~ '^feed_[0-9]{4}_[0-9]{2}$'
    ) as weeks;

-- Creates the partition of the week that is `weeks_ahead` weeks from now, as `ensure_event_week` does for the log, and
-- returns whether it was missing.
create function ensure_feed_week(weeks_ahead integer) returns boolean
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    week timestamp := date_trunc('week', now() at time zone 'utc') + weeks_ahead * interval '7 days';
    partition text := 'feed_' || to_char(week, 'IYYY_IW');
    first_id uuid := first_job_id(week at time zone 'utc');
    end_id uuid := first_job_id((week + interval '7 days') at time zone 'utc');
begin
    if to_regclass(partition) is not null then
        return false;
    end if;
    lock table only feed in access exclusive mode;
    -- Another process may have been first.
    if to_regclass(partition) is not null then
        return false;
    end if;
    execute format('create table %I (like feed including all)', partition);
    execute format(
        'with moved as (delete from feed_other where job_id >= %L and job_id < %L returning *)
         insert into %I select * from moved',
        first_id, end_id, partition
    );
    execute format('alter table feed attach partition %I for values from (%L) to (%L)', partition, first_id, end_id);
    return true;
end $$;

select ensure_feed_week(weeks_ahead) from generate_series(0, 2) as weeks_ahead;
