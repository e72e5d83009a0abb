-- There are jobs in the lane, and no live worker may run any of them: their skill is paused, or no worker has what they need.
alter type lane_state add value 'unrunnable';

-- What a worker can run.
create type worker_ability as (skills text[], programs text[], has_network boolean);

-- What the workers that claim jobs can run, each ability once.
create function worker_abilities() returns worker_ability[]
language sql stable
return array(
    select distinct row(skills, programs, isolation <> 'landlocked')::worker_ability
    from worker
    where stopped_at is null and not draining
);

-- Whether one of these abilities is enough for a ready job of the tenant.
create function is_runnable(tenant uuid, abilities worker_ability[]) returns boolean
language plpgsql stable as $$
begin
    return exists (
        select from unnest(abilities) as ability
        where runnable_kinds(tenant, ability.skills, ability.programs, ability.has_network) is not null
    );
end $$;

-- The advisory locks of the queue are (9, n): 0 to 255 are marks of lanes, and 256 is for the conditions of a claim (caps,
-- pauses, what workers can run). A claim shares it. A change of a condition that claims must not miss holds it alone: it
-- waits for the claims under way, and later ones wait for its commit.

-- Opens the lanes in which there is something to run after all.
create function open_runnable_lanes() returns trigger
language plpgsql as $$
declare
    abilities worker_ability[];
begin
    perform pg_advisory_xact_lock(9, 256);
    abilities := worker_abilities();
    perform open_lanes(array_agg(id), null)
    from tenant
    where lane = 'unrunnable' and is_runnable(id, abilities);
    return null;
end $$;

create trigger worker_can_more after insert or update of skills, programs, isolation on worker
    for each statement execute function open_runnable_lanes();
create trigger skill_resumed after delete on paused_skill
    for each statement execute function open_runnable_lanes();

-- A claim that locks no tenant reads once that there is no cap.
create function hold_claims() returns trigger
language plpgsql as $$
begin
    perform pg_advisory_xact_lock(9, 256);
    return null;
end $$;

create trigger tenant_cap before update of max_running on tenant
    for each statement execute function hold_claims();

-- Opens the lanes into which something came, and those that were full and may not be any more. Null for none.
create or replace function open_lanes(filled uuid[], freed uuid[]) returns void
language plpgsql
set plan_cache_mode = force_generic_plan
as $$
begin
    if filled is null and freed is null then
        return;
    end if;
    -- In one order, here and wherever several tenants are locked.
    perform pg_advisory_xact_lock_shared(9, mark)
    from (select distinct lane_mark(id) as mark from unnest(filled || freed) as id order by mark) as marks;
    update tenant set
        lane = 'open',
        -- Who was idle saved nothing up.
        virtual_time = greatest(tenant.virtual_time, (
            select least.virtual_time from tenant as least
            where least.lane = 'open'
            order by least.virtual_time
            limit 1
        ))
    from (
        select id from tenant
        where lane in ('idle', 'unrunnable') and id = any(filled) or lane = 'full' and id = any(freed)
        order by id
        for no key update
    ) as closed
    where tenant.id = closed.id;
end $$;

drop function look_again(uuid, integer);

-- How a lane stands that had nothing for a claim, with all that workers can run. Its caller has locked the tenant.
-- Volatile, so that it sees what was committed before the mark was its own.
create function look_again(tenant uuid, max_running integer, abilities worker_ability[]) returns lane_state
language plpgsql volatile as $$
begin
    if not pg_try_advisory_xact_lock(9, lane_mark(tenant)) then
        return 'open';
    elsif room(tenant, max_running, 1) = 0 then
        return 'full';
    elsif not exists (select from run where tenant_id = tenant and state = 'ready') then
        return 'idle';
    elsif is_runnable(tenant, abilities) then
        return 'open';
    end if;
    return 'unrunnable';
end $$;

drop function close_lanes(uuid[], double precision);

-- Closes lanes that a claim has passed by, up to the last that it takes from, as far as they have nothing for anyone:
-- nothing for the claimer's ability is known of them.
create function close_lanes(taken_from uuid[], furthest double precision, claimer worker_ability) returns void
language plpgsql volatile as $$
declare
    abilities worker_ability[];
    others worker_ability[];
begin
    if not exists (
        select from tenant where lane = 'open' and virtual_time < furthest and id <> all(taken_from)
    ) then
        return;
    end if;
    abilities := worker_abilities();
    others := array_remove(abilities, claimer);
    update tenant set lane = look_again(tenant.id, tenant.max_running, abilities)
    from (
        select id
        from tenant
        where lane = 'open' and virtual_time < furthest and id <> all(taken_from)
          and (
              room(id, max_running, 1) = 0
              or not exists (select from run where tenant_id = tenant.id and state = 'ready')
              or not is_runnable(id, others)
          )
        order by virtual_time, charged_at
        limit 1000
        for no key update skip locked
    ) as passed
    where tenant.id = passed.id;
end $$;

-- Takes up to so many jobs for a worker: see `db::claim`.
--
-- A function, because it is several statements, each of which must see what was committed while the one before it
-- waited. How it reads does not depend on how large the planner thinks that the tables are: plans are made once for a
-- connection, and a queue grows from nothing to a million within a minute.
create or replace function claim(claimer uuid, skills text[], slots bigint, has_network boolean)
returns table (run run, job job, prepaid double precision)
language plpgsql volatile
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    programs text[];
    is_alone boolean;
    kinds run_kind[];
    lanes uuid[];
    furthest double precision;
    heads uuid[];
    price double precision := 0;
begin
    select worker.programs into programs
    from worker
    cross join queue
    cross join pg_advisory_xact_lock_shared(9, 256)
    where worker.id = claimer and stopped_at is null and not paused;
    if not found then
        return;
    end if;

    -- As many lanes as there are slots, each with something to run. Who is alone and has no cap needs no turn: nothing is
    -- locked, and claims do not wait for one another. Both are read at once, so that only that tenant's jobs are taken then.
    select
        array_agg(distinct kind.tenant_id), array_agg(kind), max(virtual_time),
        (
            select count(*) = 1 and count(max_running) = 0
            from (select max_running from tenant where lane = 'open' limit 2) as open
        )
    into lanes, kinds, furthest, is_alone
    from (
        select virtual_time, found.kinds
        from tenant
        cross join lateral runnable_kinds(id, skills, programs, has_network) as found (kinds)
        where lane = 'open' and found.kinds is not null and room(id, max_running, 1) > 0
        order by virtual_time, charged_at
        limit slots
    ) as lane
    cross join unnest(lane.kinds) as kind;

    if not is_alone then
        -- First what has to be waited for: who holds one of these waits for nothing else.
        perform from tenant where id = any(lanes) order by id for no key update;
        perform close_lanes(
            coalesce(lanes, '{}'), case when cardinality(lanes) = slots then furthest else 'infinity' end,
            row(skills, programs, has_network)::worker_ability
        );
    end if;
    if lanes is null then
        return;
    end if;

    if is_alone and cardinality(kinds) = 1 then
        heads := array(
            select job_id from run
            where tenant_id = kinds[1].tenant_id and state = 'ready'
              and coalesce(skill, '') = kinds[1].skill
              and coalesce(hash_array_extended(needs, 0), 0) = kinds[1].needs
              and needs_network = kinds[1].needs_network
            order by rank
            limit slots
            for update skip locked
        );
    elsif is_alone then
        heads := next_in_turn(lanes, kinds, slots, price);
    else
        price := 1;
        heads := next_in_turn(lanes, kinds, slots, price);
        update tenant set
            virtual_time = charged(virtual_time, mine.jobs * price / weight),
            charged_at = now()
        from (select tenant_id, count(*) as jobs from run where job_id = any(heads) group by tenant_id) as mine
        where id = mine.tenant_id;
    end if;

    return query
    with taken as (
        update run set
            state = 'running',
            worker_id = claimer,
            lease = lease + 1,
            attempt = attempt + 1,
            started_at = coalesce(started_at, now()),
            claimed_at = now()
        where job_id = any(heads)
        returning run
    )
    select taken.run, job, price
    from taken
    join job on job.id = (taken.run).job_id
    order by (taken.run).rank;
end $$;
