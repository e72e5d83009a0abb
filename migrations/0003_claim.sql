-- The claim: what a worker can run, and taking jobs from the queue. 0004_fair_queue.sql has the order of tenants.

-- Jobs of one kind need the same of a worker.
create type run_kind as (tenant_id uuid, skill text, needs bigint, needs_network boolean);

-- What a worker can run.
create type worker_ability as (skills text[], programs text[], has_network boolean);

-- Whether the programs satisfy all needs. A function, and not in the language SQL, so that the planner does not inline
-- it: with a subquery for each row it overestimates the cost of a claim and compiles the plan first (measured 36 ms
-- against 0.08 ms).
create function needs_met(needs text[], programs text[]) returns boolean
language plpgsql immutable strict parallel safe cost 10 as $$
begin
    return not exists (select from unnest(needs) as need where not string_to_array(need, '|') && programs);
end $$;

-- What the workers that claim jobs can run, each ability once.
create function worker_abilities() returns worker_ability[]
language sql stable as $$
    select array(
        select distinct row(skills, programs, isolation <> 'landlocked')::worker_ability
        from worker
        where stopped_at is null and not draining
    )
$$;

-- The kinds of a tenant's ready jobs that a worker can run; null for none. Reads one job of each kind, however many
-- jobs there are.
create function runnable_kinds(tenant uuid, skills text[], programs text[], has_network boolean) returns run_kind[]
language plpgsql stable as $$
declare
    head record;
    kind run_kind := (tenant, '', -9223372036854775808, false);
    kinds run_kind[];
begin
    loop
        select run.skill, run.needs, run.needs_network into head
        from run
        where run.tenant_id = tenant and run.state = 'ready'
          and (coalesce(run.skill, ''), coalesce(hash_array_extended(run.needs, 0), 0), run.needs_network)
              > (kind.skill, kind.needs, kind.needs_network)
        order by coalesce(run.skill, ''), coalesce(hash_array_extended(run.needs, 0), 0), run.needs_network
        limit 1;
        exit when not found;
        kind.skill := coalesce(head.skill, '');
        kind.needs := coalesce(hash_array_extended(head.needs, 0), 0);
        kind.needs_network := head.needs_network;
        if (has_network or not head.needs_network)
            and (case
                when head.needs is null then head.skill is null or head.skill = any(skills)
                else needs_met(head.needs, programs)
            end)
            and not exists (select from paused_skill where name = head.skill)
        then
            kinds := kinds || kind;
        end if;
    end loop;
    return kinds;
end $$;

-- Whether one of the abilities is enough for a ready job of the tenant.
create function is_runnable(tenant uuid, abilities worker_ability[]) returns boolean
language plpgsql stable as $$
begin
    return exists (
        select from unnest(abilities) as ability
        where runnable_kinds(tenant, ability.skills, ability.programs, ability.has_network) is not null
    );
end $$;

-- Claims up to `slots` jobs for a worker: see `db::claim`.
--
-- A function, because it is several statements, and each must see what was committed while the one before it waited.
-- Its plans do not depend on the estimated size of the tables: they are made once for a connection, and a queue grows
-- from nothing to a million jobs within a minute.
create function claim(claimer uuid, skills text[], slots bigint, has_network boolean)
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

    -- As many lanes as there are slots, each with a job to run. If only one tenant has jobs, and it has no cap, no order
    -- of tenants is needed: nothing is locked, and claims do not wait for one another. Both are read by one statement, so
    -- that only jobs of that tenant are claimed then.
    select
        array_agg(distinct kind.tenant_id), array_agg(kind), max(virtual_time),
        (
            select count(*) = 1 and count(max_running) = 0
            from (select max_running from tenant where lane = 'ready' limit 2) as ready
        )
    into lanes, kinds, furthest, is_alone
    from (
        select virtual_time, found.kinds
        from tenant
        cross join lateral runnable_kinds(id, skills, programs, has_network) as found (kinds)
        where lane = 'ready' and found.kinds is not null and free_capacity(id, max_running, 1) > 0
        order by virtual_time, charged_at
        limit slots
    ) as lane
    cross join unnest(lane.kinds) as kind;

    if not is_alone then
        -- The only locks that this function waits for come first, so a claim that holds one waits for nothing else.
        perform from tenant where id = any(lanes) order by id for no key update;
        perform update_passed_lanes(
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
        heads := next_jobs(lanes, kinds, slots, price);
    else
        price := 1;
        heads := next_jobs(lanes, kinds, slots, price);
        update tenant set
            virtual_time = virtual_time_after(virtual_time, mine.jobs * price / weight),
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
            -- Some of the jobs may have been accepted after this function's now().
            started_at = coalesce(started_at, clock_timestamp()),
            claimed_at = clock_timestamp()
        where job_id = any(heads)
        returning run
    )
    select taken.run, job, price
    from taken
    join job on job.id = (taken.run).job_id
    order by (taken.run).rank;
end $$;
