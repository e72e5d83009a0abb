-- Makes the partition of the week that is so many weeks ahead, if it is missing, and says whether it did. Events of that
-- week that are in the default partition move into it in the same transaction, so that no reader misses any.
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

-- What processes of earlier releases call when they start.
create or replace function ensure_event_partitions() returns void
language plpgsql as $$
begin
    for step in 0..2 loop
        perform ensure_event_week(step);
    end loop;
end $$;

-- Raises an error if an id was made by a clock that is a day or more from the database's: its events would go to the
-- partition of another week, and its job would be kept for too long or not long enough.
create function check_job_ids(ids uuid[]) returns boolean
language plpgsql stable as $$
begin
    if exists (
        select from unnest(ids) as id
        where id not between first_job_id(now() - interval '1 day') and first_job_id(now() + interval '1 day')
    ) then
        raise exception 'a job id is a day or more from the time of the database'
            using errcode = 'check_violation', constraint = 'job_id_time';
    end if;
    return true;
end $$;
