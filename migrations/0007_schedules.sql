-- Schedules: jobs that are created at times of a calendar or at fixed intervals.

create table schedule (
    id uuid primary key,
    tenant_id uuid not null references tenant,
    name text not null,
    -- Either a cron pattern with its IANA time zone, or an interval.
    cron text,
    time_zone text,
    interval_seconds integer check (interval_seconds > 0),
    -- The request of its jobs, as the client sent it.
    job json not null,
    paused boolean not null,
    overlap text not null check (overlap in ('skip', 'queue', 'cancel_running')),
    catch_up text not null check (catch_up in ('none', 'one', 'all')),
    catch_up_limit integer not null check (catch_up_limit > 0),
    jitter_seconds integer not null check (jitter_seconds >= 0),
    starts_at timestamptz,
    ends_at timestamptz,
    -- The next time that has no run yet. Null while it is paused, and after its last time.
    next_at timestamptz,
    created_at timestamptz not null default now(),
    -- Grows with each change, so that of two changes at once one starts again.
    version integer not null default 1,
    updated_at timestamptz not null default now(),
    constraint schedule_name_key unique (tenant_id, name),
    constraint schedule_cron_xor_interval check ((cron is null) <> (interval_seconds is null)),
    constraint schedule_time_zone check ((cron is null) = (time_zone is null))
) with (fillfactor = 80);

create index schedule_tenant on schedule (tenant_id, id desc);
create index schedule_next on schedule (next_at) where next_at is not null;

-- The runs of schedules: one row for each time, so that a time can have only one job.
create table schedule_run (
    schedule_id uuid not null references schedule on delete cascade,
    -- The time by the schedule; of a run that a client requested, the time of the request.
    scheduled_for timestamptz not null,
    is_manual boolean not null default false,
    -- When it may start: later than `scheduled_for` by the jitter.
    due_at timestamptz not null,
    status text not null check (status in ('pending', 'started', 'skipped', 'failed')),
    -- Why it was skipped.
    reason text check (reason in ('missed', 'overlap', 'too_many_waiting')),
    -- The last of the times that this row stands for, if they were missed together.
    missed_until timestamptz,
    -- Why no job could be created: a problem as the API answers it.
    error json,
    job_id uuid,
    -- True from the creation of the job until maintenance has found that it ended.
    is_open boolean not null default false,
    -- A worker is about to start it. Another may after a while.
    claimed_at timestamptz,
    -- How often a worker tried and met an internal error.
    attempts smallint not null default 0,
    updated_at timestamptz not null default now(),
    primary key (schedule_id, scheduled_for),
    constraint schedule_run_job check ((status = 'started') = (job_id is not null)),
    constraint schedule_run_reason check ((status = 'skipped') = (reason is not null)),
    constraint schedule_run_error check ((status = 'failed') = (error is not null))
) with (fillfactor = 80);

create index schedule_run_pending on schedule_run (schedule_id, scheduled_for) where status = 'pending';
create index schedule_run_open on schedule_run (schedule_id) where is_open;
create index schedule_run_old on schedule_run (scheduled_for) where status <> 'pending';

-- The schedule that created the job.
alter table job add column schedule_id uuid;
