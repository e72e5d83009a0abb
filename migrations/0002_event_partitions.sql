-- The logs of jobs, in one partition a week.

-- `json`, not `jsonb`: an event is replayed byte for byte. A job id is a UUIDv7, so a range of ids is a span of time,
-- and the logs of a week are deleted by dropping its partition.
create table job_event (
    job_id uuid not null,
    seq bigint not null,
    type text not null,
    at timestamptz not null,
    attempt integer not null,
    data json not null,
    primary key (job_id, seq)
) partition by range (job_id);

-- Jobs whose week has no partition yet.
create table job_event_other partition of job_event default;

-- Logs of deleted jobs. They go with the partition of their week, or one by one if it has to stay because of others.
create table expired_log (
    job_id uuid primary key
);

-- The smallest id of a job that is created at this time or later.
create function first_job_id(at timestamptz) returns uuid
language sql immutable strict
return (lpad(to_hex((extract(epoch from at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid;

-- The partitions of whole weeks, with the range of ids of each.
create view event_week as
    select relname::text as partition, first_job_id(week) as first_id, first_job_id(week + interval '7 days') as end_id
    from (
        select relname, to_date(right(relname, 7), 'IYYY_IW')::timestamp at time zone 'utc' as week
        from pg_inherits
        join pg_class on pg_class.oid = inhrelid
        where inhparent = 'job_event'::regclass and relname ~ '^job_event_[0-9]{4}_[0-9]{2}$'
    ) as weeks;

-- Creates the partition of the week that is `weeks_ahead` weeks from now, and returns whether it was missing. Events of
-- that week in the default partition move into it in the same transaction, so that no reader misses any.
--
-- It locks the log for all readers and writers. They queue behind it while it waits, so it gives up soon (55P03).
create function ensure_event_week(weeks_ahead integer) returns boolean
language plpgsql
set lock_timeout = '100ms'
as $$
declare
    week timestamp := date_trunc('week', now() at time zone 'utc') + weeks_ahead * interval '7 days';
    partition text := 'job_event_' || to_char(week, 'IYYY_IW');
    first_id uuid := first_job_id(week at time zone 'utc');
    end_id uuid := first_job_id((week + interval '7 days') at time zone 'utc');
begin
    if to_regclass(partition) is not null then
        return false;
    end if;
    lock table only job_event in access exclusive mode;
    -- Another process may have been first.
    if to_regclass(partition) is not null then
        return false;
    end if;
    execute format('create table %I (like job_event including all)', partition);
    execute format(
        'with moved as (delete from job_event_other where job_id >= %L and job_id < %L returning *)
         insert into %I select * from moved',
        first_id, end_id, partition
    );
    execute format(
        'alter table job_event attach partition %I for values from (%L) to (%L)', partition, first_id, end_id
    );
    return true;
end $$;

-- Raises an error if an id was made by a clock that is a day or more from the database's. Its events would go to the
-- partition of another week, and its job would be kept for too long or not long enough.
create function check_job_ids(ids uuid[]) returns boolean
language plpgsql stable as $$
declare
    earliest uuid := first_job_id(now() - interval '1 day');
    latest uuid := first_job_id(now() + interval '1 day');
begin
    if exists (select from unnest(ids) as id where id not between earliest and latest) then
        raise exception 'a job id is a day or more from the time of the database'
            using errcode = 'check_violation', constraint = 'job_id_time';
    end if;
    return true;
end $$;

select ensure_event_week(weeks_ahead) from generate_series(0, 2) as weeks_ahead;
