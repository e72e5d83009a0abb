-- Followed jobs, whose events are notified, and live output in partitions of its own.

-- Jobs that someone follows through an API process. An append returns which of its jobs are followed, and the writer
-- notifies of those only, after the commit and on another connection. Unlogged: a row is a hint. API processes renew
-- their rows, and write them again after a crash of the database.
create unlogged table followed_job (
    job_id uuid primary key,
    until timestamptz not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02);

create index followed_job_until on followed_job (until);

-- Live output: the events of the types `message.delta`, `reasoning.delta` and `tool.output`. Their numbers are those of
-- the job's log, so a reader merges both tables by number. Each is repeated as a whole by a later entry in `job_event`,
-- so live output has a retention of its own, in one partition for each day (UTC). As the numbers of a log have no gaps,
-- a number in neither table is live output that was trimmed.
create table job_delta (
    job_id uuid not null,
    seq bigint not null,
    type text not null,
    at timestamptz not null,
    attempt integer not null,
    data json not null
) partition by range (at);

-- The lease makes numbers unique.
create index job_delta_job on job_delta (job_id, seq);

-- Days without a partition yet.
create table job_delta_other partition of job_delta default;

-- A part of a job's log with its live output, in order; no `types` means all. It reads no more than `most` entries of a
-- partition, because it merges the partitions by their indexes: the planner would sort the rest of the log for each page.
create function list_job_log(job uuid, after bigint, types text[], most bigint) returns setof job_event
language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_sort = off
set enable_seqscan = off
set enable_bitmapscan = off
as $$
begin
    return query
    (
        select * from job_event where job_id = job and seq > after and (cardinality(types) = 0 or type = any(types))
        order by seq
        limit most
    )
    union all
    (
        select * from job_delta
        where job_id = job and seq > after and (cardinality(types) = 0 or type = any(types))
          and (cardinality(types) = 0 or types && '{message.delta,reasoning.delta,tool.output}')
        order by seq
        limit most
    )
    order by seq
    limit most;
end $$;

-- The partitions of whole days, with the span of each.
create view delta_day as
    select relname::text as partition, first_at, first_at + interval '1 day' as end_at
    from (
        select relname, to_date(right(relname, 10), 'YYYY_MM_DD')::timestamp at time zone 'utc' as first_at
        from pg_inherits
        join pg_class on pg_class.oid = inhrelid
        where inhparent = 'job_delta'::regclass and relname ~ '^job_delta_[0-9]{4}_[0-9]{2}_[0-9]{2}$'
    ) as days;

-- Creates the partition of the day that is `days_ahead` days from now, as `ensure_event_week` does for the log, and
-- returns whether it was missing.
create function ensure_delta_day(days_ahead integer) returns boolean
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    day timestamp := date_trunc('day', now() at time zone 'utc') + days_ahead * interval '1 day';
    partition text := 'job_delta_' || to_char(day, 'YYYY_MM_DD');
    first_at timestamptz := day at time zone 'utc';
    end_at timestamptz := (day + interval '1 day') at time zone 'utc';
begin
    if to_regclass(partition) is not null then
        return false;
    end if;
    lock table only job_delta in access exclusive mode;
    -- Another process may have been first.
    if to_regclass(partition) is not null then
        return false;
    end if;
    execute format('create table %I (like job_delta including all)', partition);
    execute format(
        'with moved as (delete from job_delta_other where at >= %L and at < %L returning *)
         insert into %I select * from moved',
        first_at, end_at, partition
    );
    execute format('alter table job_delta attach partition %I for values from (%L) to (%L)', partition, first_at, end_at);
    return true;
end $$;

select ensure_delta_day(days_ahead) from generate_series(0, 2) as days_ahead;
