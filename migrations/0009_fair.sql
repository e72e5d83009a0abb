-- A tenant's lane is its part of the queue. The claim goes from lane to lane, in the order of their virtual times.
create type lane_state as enum (
    'idle', -- nothing in it to claim
    'open', -- worth a look
    'full'  -- as many jobs run as may
);

alter table tenant
    -- Its share of the workers' time, beside the others' weights.
    add column weight integer not null default 1 constraint tenant_weight check (weight between 1 and 1000),
    -- How many of its jobs may run at once; null for any number.
    add column max_running integer constraint tenant_max_running check (max_running >= 0),
    add column lane lane_state not null default 'open',
    -- The logarithm of the workers' time that it took lately, divided by its weight, plus the clock: time that was
    -- taken counts less and less, by a factor e in a minute. As that is so for all at once, the order of those who take
    -- nothing stays, and nobody has to touch them.
    add column virtual_time double precision not null default 0,
    -- Of two that are even, the one goes first that was served longer ago.
    add column charged_at timestamptz not null default '-infinity';

-- The claim finds out which of those that are there have nothing; a new one has nothing for sure.
alter table tenant alter column lane set default 'idle';
alter table tenant set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.01, autovacuum_vacuum_cost_delay = 0);
create index tenant_open on tenant (virtual_time, charged_at) where lane = 'open';

-- A virtual time, so many seconds of one worker and weight later. The bounds keep the exponential finite.
create function charged(virtual_time double precision, seconds double precision) returns double precision
language sql stable
return extract(epoch from now())::double precision / 60 + ln(greatest(
    exp(least(greatest(virtual_time - extract(epoch from now())::double precision / 60, -40), 40)) + seconds, 1e-9
));

-- How many such seconds lie between two virtual times.
create function seconds_between(earlier double precision, later double precision) returns double precision
language sql stable
return exp(least(greatest(later - extract(epoch from now())::double precision / 60, -40), 40))
    - exp(least(greatest(earlier - extract(epoch from now())::double precision / 60, -40), 40));

-- One row.
create table queue (
    id boolean primary key default true check (id),
    paused boolean not null default false
);
insert into queue default values;

-- Jobs of these skills are not begun, whosesoever they are.
create table paused_skill (
    name text primary key,
    paused_at timestamptz not null default now()
);

drop index run_ready;
-- Jobs of a kind need the same of a worker. A queue has few kinds, and may have very many jobs of each.
create index run_ready on run
    (tenant_id, coalesce(skill, ''), coalesce(hash_array_extended(needs, 0), 0), needs_network, rank)
    where state = 'ready';
create index run_running on run (tenant_id) where state = 'running';

create type run_kind as (tenant_id uuid, skill text, needs bigint, needs_network boolean);

-- The kinds of a tenant's ready jobs that a worker can run; null for none. It looks at one job of each kind, however
-- many there are.
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

-- Whoever makes a job ready, or ends a run of a tenant that has a cap, holds the lane's mark in common until it commits;
-- who closes a lane holds it alone and looks again. So no lane is closed while something is about to come into it. (Marks
-- are few, so that whoever makes very many jobs ready needs no more than these; two lanes that share one do no harm.)
create function lane_mark(tenant uuid) returns integer
language sql immutable strict parallel safe
return uuid_hash(tenant) & 255;

-- Opens the lanes into which something came, and those that were full and may not be any more. Null for none.
create function open_lanes(filled uuid[], freed uuid[]) returns void
language plpgsql as $$
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
        where lane = 'idle' and id = any(filled) or lane = 'full' and id = any(freed)
        order by id
        for no key update
    ) as closed
    where tenant.id = closed.id;
end $$;

create function open_filled_lanes() returns trigger
language plpgsql as $$
begin
    perform open_lanes(array_agg(distinct tenant_id), null) from added where state = 'ready';
    return null;
end $$;

-- However a job comes into the queue.
create trigger run_added after insert on run
    referencing new table as added
    for each statement execute function open_filled_lanes();

-- How many more of a tenant's jobs may run now, up to a limit.
create function room(tenant uuid, max_running integer, most bigint) returns bigint
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

-- How a lane stands that had nothing for a claim. Its caller has locked the tenant. Volatile, so that it sees what was
-- committed before the mark was its own.
create function look_again(tenant uuid, max_running integer) returns lane_state
language plpgsql volatile as $$
begin
    if not pg_try_advisory_xact_lock(9, lane_mark(tenant)) then
        return 'open';
    elsif room(tenant, max_running, 1) = 0 then
        return 'full';
    elsif exists (select from run where tenant_id = tenant and state = 'ready') then
        return 'open';
    end if;
    return 'idle';
end $$;

-- Closes lanes that a claim has passed by, up to the last that it takes from, as far as they have nothing for anyone.
create function close_lanes(taken_from uuid[], furthest double precision) returns void
language plpgsql volatile as $$
begin
    update tenant set lane = look_again(tenant.id, tenant.max_running)
    from (
        select id
        from tenant
        where lane = 'open' and virtual_time < furthest and id <> all(taken_from)
          and (
              room(id, max_running, 1) = 0
              or not exists (select from run where tenant_id = tenant.id and state = 'ready')
          )
        order by virtual_time, charged_at
        limit 100
        for no key update skip locked
    ) as passed
    where tenant.id = passed.id;
end $$;

-- The jobs that are next in those lanes, locked, up to so many: the one whose tenant will have had the least when it
-- begins, at that price for each before it; in a lane, the one of the lowest rank. It looks at twice a lane's even share:
-- so it sees past what others are about to take, and if one lane should have more than that, the next claim gives it.
create function next_in_turn(lanes uuid[], kinds run_kind[], slots bigint, price double precision) returns uuid[]
language plpgsql volatile as $$
begin
    return array(
        select run.job_id
        from (
            select nth, job_id, charged_at, charged(virtual_time, (nth - 1) * price / weight) as start
            from (
                select tenant.*, head.job_id, row_number() over (partition by tenant.id order by head.rank) as nth
                from (select *, room(id, max_running, slots) as room from tenant where id = any(lanes)) as tenant
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
            where nth <= room
            order by start, charged_at, nth
            limit 2 * slots + 2
        ) as candidate
        join run on run.job_id = candidate.job_id and run.state = 'ready'
        order by start, charged_at, nth
        limit slots
        for update of run skip locked
    );
end $$;

-- Takes up to so many jobs for a worker: see `db::claim`.
--
-- A function, because it is several statements, each of which must see what was committed while the one before it
-- waited. How it reads does not depend on how large the planner thinks that the tables are: plans are made once for a
-- connection, and a queue grows from nothing to a million within a minute.
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
    where worker.id = claimer and stopped_at is null and not paused;
    if not found then
        return;
    end if;

    -- Who is alone and has no cap needs no turn: nothing is locked, and claims do not wait for one another.
    select count(*) = 1 and count(max_running) = 0 into is_alone
    from (select max_running from tenant where lane = 'open' limit 2) as lane;

    -- As many lanes as there are slots, each with something to run.
    select array_agg(distinct kind.tenant_id), array_agg(kind), max(virtual_time) into lanes, kinds, furthest
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
        perform close_lanes(coalesce(lanes, '{}'), case when cardinality(lanes) = slots then furthest else 'infinity' end);
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
