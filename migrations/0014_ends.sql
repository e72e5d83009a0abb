-- How jobs ended. A row of its own, so that a request and a result are each written once and never moved: to write the
-- end into the request's row took most of the time that finishing jobs took, and left a dead row of each.
create table job_end (
    job_id uuid primary key,
    outcome job_outcome not null,
    started_at timestamptz,
    finished_at timestamptz not null,
    result json not null,
    -- Of the attempt that ended it.
    skill_digest bytea
);

insert into job_end (job_id, outcome, started_at, finished_at, result, skill_digest)
select id, outcome, started_at, finished_at, result, skill_digest from job where outcome is not null;

-- Workers from before this table still write the end beside the request. Nobody reads it there any more.
create function copy_end() returns trigger
language plpgsql as $$
begin
    insert into job_end (job_id, outcome, started_at, finished_at, result, skill_digest)
    values (new.id, new.outcome, new.started_at, new.finished_at, new.result, new.skill_digest)
    on conflict do nothing;
    return null;
end $$;

create trigger job_ended after update of outcome on job
    for each row when (old.outcome is null and new.outcome is not null)
    execute function copy_end();

-- One index for the running jobs instead of two. They are few, so that looking for a worker's among all of them is cheap.
drop index run_worker;
drop index run_running;
create index run_running on run (tenant_id, worker_id) where state = 'running';

-- With a plan for each call the planner takes longer than the work.
alter function open_lanes(uuid[], uuid[]) set plan_cache_mode = force_generic_plan;
