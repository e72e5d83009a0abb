-- Weighted fair queuing. Each tenant has a lane, which is its part of the queue. A claim reads the ready lanes in the
-- order of their virtual times; using worker time advances the virtual time of a lane.
--
-- A lane with a job to claim must not stay in another state than `ready`. So a statement that makes a job ready, or that
-- ends a run of a tenant with a cap, holds an advisory lock for the lane, shared, until it commits. A claim that moves a
-- lane out of `ready` takes the same lock exclusively, and checks the lane again. The advisory locks of the queue are
-- (9, n):
--
--   0 to 255  lanes; see `lane_lock`
--   256       the conditions of a claim: caps, pauses, what workers can run. A claim holds it shared. A change of a
--             condition that claims must not miss holds it exclusively: it waits for the claims in progress, and later
--             claims wait for its commit.

-- A virtual time after this many seconds of one worker, for weight 1. The bounds keep the exponential finite.
create function virtual_time_after(virtual_time double precision, seconds double precision) returns double precision
language sql stable
return extract(epoch from now())::double precision / 60 + ln(greatest(
    exp(least(greatest(virtual_time - extract(epoch from now())::double precision / 60, -40), 40)) + seconds, 1e-9
));

-- The seconds of one worker, for weight 1, between two virtual times.
create function seconds_between(earlier double precision, later double precision) returns double precision
language sql stable
return exp(least(greatest(later - extract(epoch from now())::double precision / 60, -40), 40))
    - exp(least(greatest(earlier - extract(epoch from now())::double precision / 60, -40), 40));

-- How many more jobs of a tenant may run now, at most `most`.
create function free_capacity(tenant uuid, max_running integer, most bigint) returns bigint
language plpgsql stable as $$
begin
    if max_running is null then
        return most;
    end if;
    return least(most, max_running - (
        select count(*) from (
            select from run where tenant_id = tenant and state = 'running' limit max_running
        ) as running
    ));
end $$;

-- The advisory lock of a lane. There are few locks, so that a statement that makes very many jobs ready needs no more
-- than these. Lanes that share one only wait for each other.
create function lane_lock(tenant uuid) returns integer
language sql immutable strict parallel safe
return uuid_hash(tenant) & 255;

-- Marks lanes as ready: those that received ready jobs (`filled`), and those at their cap in which a run ended (`freed`).
-- Null for none.
create function mark_lanes_ready(filled uuid[], freed uuid[]) returns void
language plpgsql
-- Making a plan for each call takes longer than the work.
set plan_cache_mode = force_generic_plan
as $$
begin
    if filled is null and freed is null then
        return;
    end if;
    -- In one order, here and wherever several tenants are locked.
    perform pg_advisory_xact_lock_shared(9, lock)
    from (select distinct lane_lock(id) as lock from unnest(filled || freed) as id order by lock) as locks;
    update tenant set
        lane = 'ready',
        -- A tenant without jobs saves up no worker time.
        virtual_time = greatest(tenant.virtual_time, (
            select least.virtual_time from tenant as least
            where least.lane = 'ready'
            order by least.virtual_time
            limit 1
        ))
    from (
        select id from tenant
        where lane in ('empty', 'unrunnable') and id = any(filled) or lane = 'at_cap' and id = any(freed)
        order by id
        for no key update
    ) as waiting
    where tenant.id = waiting.id;
end $$;

-- The state of a lane in which a claim found nothing, considering all live workers. The caller has locked the tenant.
-- Volatile, so that it sees what was committed before it had the advisory lock.
create function current_lane_state(tenant uuid, max_running integer, abilities worker_ability[]) returns lane_state
language plpgsql volatile as $$
begin
    if not pg_try_advisory_xact_lock(9, lane_lock(tenant)) then
        return 'ready';
    elsif free_capacity(tenant, max_running, 1) = 0 then
        return 'at_cap';
    elsif not exists (select from run where tenant_id = tenant and state = 'ready') then
        return 'empty';
    elsif is_runnable(tenant, abilities) then
        return 'ready';
    end if;
    return 'unrunnable';
end $$;

-- Updates the state of the lanes before `furthest` that a claim passed over and in which no worker can run anything. The
-- claim has already established that the claimer cannot.
create function update_passed_lanes(claimed_from uuid[], furthest double precision, claimer worker_ability) returns void
language plpgsql volatile as $$
declare
    abilities worker_ability[];
    others worker_ability[];
begin
    if not exists (
        select from tenant where lane = 'ready' and virtual_time < furthest and id <> all(claimed_from)
    ) then
        return;
    end if;
    abilities := worker_abilities();
    others := array_remove(abilities, claimer);
    update tenant set lane = current_lane_state(tenant.id, tenant.max_running, abilities)
    from (
        select id
        from tenant
        where lane = 'ready' and virtual_time < furthest and id <> all(claimed_from)
          and (
              free_capacity(id, max_running, 1) = 0
              or not exists (select from run where tenant_id = tenant.id and state = 'ready')
              or not is_runnable(id, others)
          )
        order by virtual_time, charged_at
        limit 1000
        for no key update skip locked
    ) as passed
    where tenant.id = passed.id;
end $$;

-- Locks and returns the next jobs of these lanes, at most `slots`: first the job whose tenant will have used the least
-- when it begins, at `price` for each job before it; within a lane, the job of the lowest rank. Reads twice a lane's even
-- share, so that it finds jobs behind those that other claims are taking. If one lane should get more than that, the next
-- claim gives it.
create function next_jobs(lanes uuid[], kinds run_kind[], slots bigint, price double precision) returns uuid[]
language plpgsql volatile as $$
begin
    return array(
        select run.job_id
        from (
            select nth, job_id, charged_at, virtual_time_after(virtual_time, (nth - 1) * price / weight) as start
            from (
                select tenant.*, head.job_id, row_number() over (partition by tenant.id order by head.rank) as nth
                from (select *, free_capacity(id, max_running, slots) as capacity from tenant where id = any(lanes)) as tenant
                join unnest(kinds) as kind on kind.tenant_id = tenant.id
                cross join lateral (
                    select job_id, rank
                    from run
                    where tenant_id = kind.tenant_id and state = 'ready'
                      and coalesce(skill, '') = kind.skill
                      and coalesce(hash_array_extended(needs, 0), 0) = kind.needs
                      and needs_network = kind.needs_network
                    order by rank
                    limit 2 * slots / cardinality(lanes) + 2
                ) as head
            ) as candidate
            where nth <= capacity
            order by start, charged_at, nth
            limit 2 * slots + 2
        ) as candidate
        join run on run.job_id = candidate.job_id and run.state = 'ready'
        order by start, charged_at, nth
        limit slots
        for update of run skip locked
    );
end $$;

create function mark_filled_lanes_ready() returns trigger
language plpgsql as $$
begin
    perform mark_lanes_ready(array_agg(distinct tenant_id), null) from added where state = 'ready';
    return null;
end $$;

create trigger run_added after insert on run
    referencing new table as added
    for each statement execute function mark_filled_lanes_ready();

-- Marks the unrunnable lanes in which a worker can now run a job as ready.
create function mark_runnable_lanes_ready() returns trigger
language plpgsql as $$
declare
    abilities worker_ability[];
begin
    perform pg_advisory_xact_lock(9, 256);
    abilities := worker_abilities();
    perform mark_lanes_ready(array_agg(id), null)
    from tenant
    where lane = 'unrunnable' and is_runnable(id, abilities);
    return null;
end $$;

create trigger worker_can_more after insert or update of skills, programs, isolation on worker
    for each statement execute function mark_runnable_lanes_ready();
create trigger skill_resumed after delete on paused_skill
    for each statement execute function mark_runnable_lanes_ready();

-- A claim that locks no tenant reads only once that there is no cap.
create function wait_for_claims() returns trigger
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(9, 256);
    return null;
end $$;

create trigger tenant_cap before update of max_running on tenant
    for each statement execute function wait_for_claims();
