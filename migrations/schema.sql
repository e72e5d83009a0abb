CREATE TYPE approval_status AS ENUM (
    'pending',
    'approved',
    'denied',
    'expired',
    'cancelled'
);

CREATE TYPE job_outcome AS ENUM (
    'completed',
    'failed',
    'cancelled'
);

CREATE TYPE key_scope AS ENUM (
    'jobs',
    'admin',
    'metrics'
);

CREATE TYPE lane_state AS ENUM (
    'empty',
    'ready',
    'at_cap',
    'unrunnable'
);

CREATE TYPE preview_status AS ENUM (
    'pending',
    'ready',
    'failed'
);

CREATE TYPE run_kind AS (
	tenant_id uuid,
	skill text,
	needs bigint,
	needs_network boolean
);

CREATE TYPE run_state AS ENUM (
    'scheduled',
    'ready',
    'running',
    'waiting',
    'blocked'
);

CREATE TYPE worker_ability AS (
	skills text[],
	programs text[],
	has_network boolean
);

CREATE FUNCTION check_job_ids(ids uuid[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
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

CREATE TABLE job (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    skill text,
    skill_version integer,
    skill_digest bytea,
    agent text,
    agent_version integer,
    conversation_id uuid,
    "position" integer,
    model text NOT NULL,
    request json NOT NULL,
    metadata json NOT NULL,
    retry_of uuid,
    created_at timestamp with time zone NOT NULL,
    title text DEFAULT ''::text NOT NULL,
    prompt_preview text DEFAULT ''::text NOT NULL,
    external_id text,
    schedule_id uuid,
    CONSTRAINT job_position CHECK (((conversation_id IS NULL) = ("position" IS NULL))),
    CONSTRAINT job_skill_xor_agent CHECK (((skill IS NULL) <> (agent IS NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE run (
    job_id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    skill text,
    needs text[],
    needs_network boolean DEFAULT false NOT NULL,
    conversation_id uuid,
    "position" integer,
    state run_state NOT NULL,
    rank timestamp with time zone NOT NULL,
    run_at timestamp with time zone NOT NULL,
    worker_id uuid,
    lease bigint DEFAULT 0 NOT NULL,
    attempt integer DEFAULT 0 NOT NULL,
    last_seq bigint NOT NULL,
    started_at timestamp with time zone,
    claimed_at timestamp with time zone,
    spent interval DEFAULT '00:00:00'::interval NOT NULL,
    cancel_requested boolean DEFAULT false NOT NULL,
    crashes smallint DEFAULT 0 NOT NULL,
    drains smallint DEFAULT 0 NOT NULL,
    model_outages smallint DEFAULT 0 NOT NULL,
    failures smallint DEFAULT 0 NOT NULL,
    unreadable smallint DEFAULT 0 NOT NULL,
    counts_toward_limit boolean DEFAULT false NOT NULL,
    fed boolean DEFAULT false NOT NULL,
    followed_until timestamp with time zone,
    CONSTRAINT run_position CHECK (((conversation_id IS NULL) = ("position" IS NULL))),
    CONSTRAINT run_worker CHECK (((state = 'running'::run_state) = (worker_id IS NOT NULL)))
)
WITH (fillfactor='60', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');

CREATE FUNCTION claim(claimer uuid, skills text[], slots bigint, has_network boolean) RETURNS TABLE(run run, job job, prepaid double precision)
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION current_lane_state(tenant uuid, max_running integer, abilities worker_ability[]) RETURNS lane_state
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION ensure_delta_day(days_ahead integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '100ms'
    AS $$
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

CREATE FUNCTION ensure_event_week(weeks_ahead integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '100ms'
    AS $$
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

CREATE FUNCTION ensure_feed_week(weeks_ahead integer) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '100ms'
    AS $$
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

CREATE FUNCTION fed_tenants(tenants uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE
    AS $$
begin
    return array(select tenant_id from feed_tenant where tenant_id = any(tenants));
end $$;

CREATE FUNCTION feed_horizon() RETURNS bigint
    LANGUAGE sql STABLE
    RETURN ((pg_snapshot_xmin(pg_current_snapshot()))::text)::bigint;

CREATE FUNCTION first_job_id(at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE STRICT
    RETURN ((lpad(to_hex(((EXTRACT(epoch FROM at) * (1000)::numeric))::bigint), 12, '0'::text) || repeat('0'::text, 20)))::uuid;

CREATE FUNCTION free_capacity(tenant uuid, max_running integer, most bigint) RETURNS bigint
    LANGUAGE plpgsql STABLE
    AS $$
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

CREATE FUNCTION is_runnable(tenant uuid, abilities worker_ability[]) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$
begin
    return exists (
        select from unnest(abilities) as ability
        where runnable_kinds(tenant, ability.skills, ability.programs, ability.has_network) is not null
    );
end $$;

CREATE FUNCTION lane_lock(tenant uuid) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    RETURN (uuid_hash(tenant) & 255);

CREATE FUNCTION lease_provider_quota(account text, worker uuid, request_seconds double precision, token_seconds double precision, max_concurrent integer, horizon double precision, lease_seconds double precision, costs double precision[], correction double precision, calls_running integer, calls_waiting integer, OUT starts double precision[], OUT next_start double precision, OUT may_run integer) RETURNS record
    LANGUAGE plpgsql
    AS $$
declare
    at_now constant timestamptz := clock_timestamp();
    state provider_account;
    cost float8;
    start timestamptz;
    others integer;
    share integer;
    most integer;
begin
    select * into strict state from provider_account where id = account for update;
    delete from provider_slice as slice where slice.account_id = account and slice.expires_at < at_now;
    select count(*) into others
    from provider_slice as slice
    where slice.account_id = account and slice.worker_id <> worker and slice.waiting > 0;
    -- Workers that wait share what there is, so that none of them takes all of the next seconds.
    most := case
        when request_seconds > 0 then greatest(ceil(horizon / request_seconds / (others + 1)), 1)
        else cardinality(costs)
    end;
    if correction > 0 then
        state.tokens_at := greatest(state.tokens_at, at_now);
    end if;
    state.tokens_at := state.tokens_at + correction * coalesce(token_seconds, 0) * interval '1 second';
    starts := '{}';
    foreach cost in array costs loop
        start := greatest(
            at_now, state.paused_until,
            case when request_seconds > 0 then state.requests_at end,
            case when token_seconds > 0 then state.tokens_at end
        );
        exit when start > at_now + horizon * interval '1 second' or cardinality(starts) >= most;
        -- Only calls that wait lease what others could use: a start that is leased ahead may be lost.
        exit when cardinality(starts) >= calls_waiting and (others > 0 or start > at_now + interval '500 milliseconds');
        starts := starts || extract(epoch from start - at_now)::float8;
        state.requests_at := start + coalesce(request_seconds, 0) * interval '1 second';
        state.tokens_at := greatest(state.tokens_at, at_now) + cost * coalesce(token_seconds, 0) * interval '1 second';
    end loop;
    next_start := extract(epoch from greatest(at_now, state.paused_until, state.requests_at, state.tokens_at) - at_now);
    -- A worker never holds fewer calls than it has in progress. Of the others, each can have its share when it wants it.
    share := ceil(max_concurrent::float8 / (others + 1));
    select greatest(calls_running, least(
        calls_running + calls_waiting,
        max_concurrent - coalesce(sum(greatest(slice.held, least(slice.wanted, share))), 0)
    ))
    into may_run
    from provider_slice as slice
    where slice.account_id = account and slice.worker_id <> worker;
    if max_concurrent is null then
        may_run := null;
    end if;
    insert into provider_slice as known (account_id, worker_id, held, wanted, waiting, expires_at)
    values (
        account, worker, coalesce(may_run, calls_running), calls_running + calls_waiting,
        greatest(calls_waiting - cardinality(starts), calls_running + calls_waiting - may_run, 0),
        at_now + lease_seconds * interval '1 second'
    )
    on conflict (account_id, worker_id) do update set
        held = excluded.held, wanted = excluded.wanted, waiting = excluded.waiting, expires_at = excluded.expires_at;
    update provider_account set requests_at = state.requests_at, tokens_at = state.tokens_at where id = account;
end
$$;

CREATE TABLE job_event (
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    data json NOT NULL
)
PARTITION BY RANGE (job_id);

CREATE FUNCTION list_job_log(job uuid, after bigint, types text[], most bigint) RETURNS SETOF job_event
    LANGUAGE plpgsql STABLE
    SET plan_cache_mode TO 'force_generic_plan'
    SET jit TO 'off'
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
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

CREATE FUNCTION mark_filled_lanes_ready() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform mark_lanes_ready(array_agg(distinct tenant_id), null) from added where state = 'ready';
    return null;
end $$;

CREATE FUNCTION mark_lanes_ready(filled uuid[], freed uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
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

CREATE FUNCTION mark_runnable_lanes_ready() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION needs_met(needs text[], programs text[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE STRICT COST 10 PARALLEL SAFE
    AS $$
begin
    return not exists (select from unnest(needs) as need where not string_to_array(need, '|') && programs);
end $$;

CREATE FUNCTION next_jobs(lanes uuid[], kinds run_kind[], slots bigint, price double precision) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION note_provider_failure(account text, failures_to_open integer, seconds_to_open double precision, open_seconds double precision, max_open_seconds double precision) RETURNS void
    LANGUAGE sql
    AS $$
    with counted as materialized (
        select
            id,
            case when failed_at > now() - interval '1 minute' then failures + 1 else 1 end as failures,
            case when failed_at > now() - interval '1 minute' then failing_since else now() end as failing_since,
            open_until,
            openings
        from provider_account
        where id = account
        for update
    ),
    judged as (
        select
            *,
            case
                when open_until is not null then open_until <= now()
                else failures >= failures_to_open and failing_since <= now() - seconds_to_open * interval '1 second'
            end as opens
        from counted
    )
    update provider_account set
        failures = judged.failures,
        failing_since = judged.failing_since,
        failed_at = now(),
        openings = judged.openings + opens::integer,
        open_until = case
            when opens then now() + least(open_seconds * power(2, least(judged.openings, 20)), max_open_seconds) * interval '1 second'
            else judged.open_until
        end,
        probe_until = case when opens then null else probe_until end
    from judged
    where provider_account.id = judged.id
$$;

CREATE FUNCTION refuse_deleted_blob() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    if exists (select from blob_deletion where sha256 = new.sha256) then
        raise exception 'the blob % is being deleted', encode(new.sha256, 'hex')
            using errcode = 'lock_not_available', constraint = 'blob_deletion';
    end if;
    return new;
end $$;

CREATE FUNCTION runnable_kinds(tenant uuid, skills text[], programs text[], has_network boolean) RETURNS run_kind[]
    LANGUAGE plpgsql STABLE
    AS $$
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

CREATE FUNCTION seconds_between(earlier double precision, later double precision) RETURNS double precision
    LANGUAGE sql STABLE
    RETURN (exp(LEAST(GREATEST((later - ((EXTRACT(epoch FROM now()))::double precision / (60)::double precision)), ('-40'::integer)::double precision), (40)::double precision)) - exp(LEAST(GREATEST((earlier - ((EXTRACT(epoch FROM now()))::double precision / (60)::double precision)), ('-40'::integer)::double precision), (40)::double precision)));

CREATE FUNCTION update_passed_lanes(claimed_from uuid[], furthest double precision, claimer worker_ability) RETURNS void
    LANGUAGE plpgsql
    AS $$
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

CREATE FUNCTION virtual_time_after(virtual_time double precision, seconds double precision) RETURNS double precision
    LANGUAGE sql STABLE
    RETURN (((EXTRACT(epoch FROM now()))::double precision / (60)::double precision) + ln(GREATEST((exp(LEAST(GREATEST((virtual_time - ((EXTRACT(epoch FROM now()))::double precision / (60)::double precision)), ('-40'::integer)::double precision), (40)::double precision)) + seconds), (0.000000001)::double precision)));

CREATE FUNCTION wait_for_claims() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
begin
    perform pg_advisory_xact_lock(9, 256);
    return null;
end $$;

CREATE FUNCTION worker_abilities() RETURNS worker_ability[]
    LANGUAGE sql STABLE
    AS $$
    select array(
        select distinct row(skills, programs, isolation <> 'landlocked')::worker_ability
        from worker
        where stopped_at is null and not draining
    )
$$;

CREATE TABLE agent (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone
);

CREATE TABLE agent_version (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    settings json NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT agent_version_version_check CHECK ((version > 0))
);

CREATE TABLE api_key (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    hash bytea NOT NULL,
    hint text NOT NULL,
    scopes key_scope[] NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT api_key_scopes_check CHECK ((cardinality(scopes) > 0))
);

CREATE TABLE approval (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    requested_seq bigint NOT NULL,
    resolved_seq bigint,
    status approval_status DEFAULT 'pending'::approval_status NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT approval_resolved CHECK (((status = 'pending'::approval_status) = (resolved_seq IS NULL)))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE asset (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    job_id uuid,
    name text NOT NULL,
    content_type text NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    visible boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT asset_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT asset_size_check CHECK ((size >= 0))
)
WITH (autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE blob_deletion (
    sha256 bytea NOT NULL,
    id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT blob_deletion_sha256_check CHECK ((octet_length(sha256) = 32))
);

CREATE TABLE budget_reservation (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    job_id uuid NOT NULL,
    lease bigint NOT NULL,
    tokens bigint NOT NULL,
    cost bigint NOT NULL,
    CONSTRAINT budget_reservation_cost_check CHECK ((cost >= 0)),
    CONSTRAINT budget_reservation_tokens_check CHECK ((tokens >= 0))
);

CREATE TABLE conversation (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    agent text NOT NULL,
    metadata json NOT NULL,
    last_position integer DEFAULT 0 NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    external_id text
);

CREATE TABLE job_delta (
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    data json NOT NULL
)
PARTITION BY RANGE (at);

CREATE VIEW delta_day AS
 SELECT (relname)::text AS partition,
    first_at,
    (first_at + '1 day'::interval) AS end_at
   FROM ( SELECT pg_class.relname,
            ((to_date("right"((pg_class.relname)::text, 10), 'YYYY_MM_DD'::text))::timestamp without time zone AT TIME ZONE 'utc'::text) AS first_at
           FROM (pg_inherits
             JOIN pg_class ON ((pg_class.oid = pg_inherits.inhrelid)))
          WHERE ((pg_inherits.inhparent = ('job_delta'::regclass)::oid) AND (pg_class.relname ~ '^job_delta_[0-9]{4}_[0-9]{2}_[0-9]{2}$'::text))) days;

CREATE VIEW event_week AS
 SELECT (relname)::text AS partition,
    first_job_id(week) AS first_id,
    first_job_id((week + '7 days'::interval)) AS end_id
   FROM ( SELECT pg_class.relname,
            ((to_date("right"((pg_class.relname)::text, 7), 'IYYY_IW'::text))::timestamp without time zone AT TIME ZONE 'utc'::text) AS week
           FROM (pg_inherits
             JOIN pg_class ON ((pg_class.oid = pg_inherits.inhrelid)))
          WHERE ((pg_inherits.inhparent = ('job_event'::regclass)::oid) AND (pg_class.relname ~ '^job_event_[0-9]{4}_[0-9]{2}$'::text))) weeks;

CREATE TABLE expired_log (
    job_id uuid NOT NULL
);

CREATE TABLE feed (
    tenant_id uuid NOT NULL,
    txid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    status text NOT NULL
)
PARTITION BY RANGE (job_id);

CREATE TABLE feed_other (
    tenant_id uuid NOT NULL,
    txid bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    status text NOT NULL
);

CREATE TABLE feed_state (
    id boolean DEFAULT true NOT NULL,
    epoch integer DEFAULT 1 NOT NULL,
    system_identifier bigint,
    floor bigint DEFAULT 0 NOT NULL,
    CONSTRAINT feed_state_id_check CHECK (id)
);

CREATE TABLE feed_tenant (
    tenant_id uuid NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    since bigint
);

CREATE VIEW feed_week AS
 SELECT (relname)::text AS partition,
    first_job_id(week) AS first_id,
    first_job_id((week + '7 days'::interval)) AS end_id
   FROM ( SELECT pg_class.relname,
            ((to_date("right"((pg_class.relname)::text, 7), 'IYYY_IW'::text))::timestamp without time zone AT TIME ZONE 'utc'::text) AS week
           FROM (pg_inherits
             JOIN pg_class ON ((pg_class.oid = pg_inherits.inhrelid)))
          WHERE ((pg_inherits.inhparent = ('feed'::regclass)::oid) AND (pg_class.relname ~ '^feed_[0-9]{4}_[0-9]{2}$'::text))) weeks;

CREATE UNLOGGED TABLE followed_job (
    job_id uuid NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.02');

CREATE TABLE idempotency_key (
    tenant_id uuid NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    job_id uuid NOT NULL,
    job_ids uuid[],
    created_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE job_delta_other (
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    data json NOT NULL
);

CREATE TABLE job_end (
    job_id uuid NOT NULL,
    outcome job_outcome NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone NOT NULL,
    result json NOT NULL,
    skill_digest bytea
);

CREATE TABLE job_event_other (
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    type text NOT NULL,
    at timestamp with time zone NOT NULL,
    attempt integer NOT NULL,
    data json NOT NULL
);

CREATE TABLE job_token (
    hash bytea NOT NULL,
    key_id uuid NOT NULL,
    job_id uuid NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT job_token_hash_check CHECK ((octet_length(hash) = 32))
);

CREATE TABLE job_webhook (
    job_id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    url text NOT NULL,
    events text[] NOT NULL
);

CREATE TABLE maintenance (
    name text NOT NULL,
    started_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    "position" integer DEFAULT 0 NOT NULL
);

CREATE TABLE paused_skill (
    name text NOT NULL,
    paused_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE skill (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    deleted_at timestamp with time zone
);

CREATE TABLE submit_limit (
    tenant_id uuid NOT NULL,
    max_queued integer,
    per_minute integer,
    burst integer,
    burst_full_at timestamp with time zone DEFAULT now() NOT NULL,
    room integer DEFAULT 0 NOT NULL,
    no_room_at timestamp with time zone DEFAULT '1970-01-01 00:00:00+00'::timestamp with time zone NOT NULL,
    CONSTRAINT submit_limit_burst_check CHECK ((burst > 0)),
    CONSTRAINT submit_limit_max_queued_check CHECK ((max_queued > 0)),
    CONSTRAINT submit_limit_per_minute_check CHECK ((per_minute > 0)),
    CONSTRAINT submit_limit_rate CHECK (((per_minute IS NULL) = (burst IS NULL))),
    CONSTRAINT submit_limit_room_check CHECK ((room >= 0))
)
WITH (fillfactor='50');

CREATE TABLE tenant_budget (
    tenant_id uuid NOT NULL,
    max_total_tokens bigint,
    max_cost bigint,
    month date NOT NULL,
    spent_tokens bigint DEFAULT 0 NOT NULL,
    spent_cost bigint DEFAULT 0 NOT NULL,
    reserved_tokens bigint DEFAULT 0 NOT NULL,
    reserved_cost bigint DEFAULT 0 NOT NULL,
    CONSTRAINT tenant_budget_max_cost_check CHECK ((max_cost >= 0)),
    CONSTRAINT tenant_budget_max_total_tokens_check CHECK ((max_total_tokens >= 0)),
    CONSTRAINT tenant_budget_reserved_cost_check CHECK ((reserved_cost >= 0)),
    CONSTRAINT tenant_budget_reserved_tokens_check CHECK ((reserved_tokens >= 0)),
    CONSTRAINT tenant_budget_spent_cost_check CHECK ((spent_cost >= 0)),
    CONSTRAINT tenant_budget_spent_tokens_check CHECK ((spent_tokens >= 0))
)
WITH (fillfactor='50');

CREATE VIEW presented_key AS
 SELECT api_key.id,
    api_key.hash,
    api_key.tenant_id,
    api_key.name,
    api_key.scopes,
    (EXISTS ( SELECT
           FROM tenant_budget budget
          WHERE ((budget.tenant_id = api_key.tenant_id) AND ((budget.max_total_tokens IS NOT NULL) OR (budget.max_cost IS NOT NULL))))) AS has_budget,
    (EXISTS ( SELECT
           FROM submit_limit own
          WHERE ((own.tenant_id = api_key.tenant_id) AND ((own.max_queued IS NOT NULL) OR (own.per_minute IS NOT NULL))))) AS has_submit_limit,
    (EXISTS ( SELECT
           FROM skill
          WHERE (skill.tenant_id = api_key.tenant_id))) AS has_skills
   FROM api_key
  WHERE (api_key.revoked_at IS NULL);

CREATE TABLE preview (
    asset_id uuid NOT NULL,
    status preview_status DEFAULT 'pending'::preview_status NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    reason text,
    total_pages integer,
    CONSTRAINT preview_failed CHECK (((status = 'failed'::preview_status) = (reason IS NOT NULL))),
    CONSTRAINT preview_ready CHECK (((status = 'ready'::preview_status) = (total_pages IS NOT NULL)))
);

CREATE TABLE preview_file (
    asset_id uuid NOT NULL,
    page integer NOT NULL,
    size bigint NOT NULL,
    sha256 bytea NOT NULL,
    width integer NOT NULL,
    height integer NOT NULL,
    CONSTRAINT preview_file_page_check CHECK ((page >= 0)),
    CONSTRAINT preview_file_sha256_check CHECK ((octet_length(sha256) = 32)),
    CONSTRAINT preview_file_size_check CHECK ((size >= 0))
);

CREATE UNLOGGED TABLE provider_account (
    id text NOT NULL,
    provider text NOT NULL,
    requests_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    tokens_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    paused_until timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    failed_at timestamp with time zone,
    open_until timestamp with time zone,
    openings integer DEFAULT 0 NOT NULL,
    probe_until timestamp with time zone
)
WITH (fillfactor='50');

CREATE UNLOGGED TABLE provider_slice (
    account_id text NOT NULL,
    worker_id uuid NOT NULL,
    held integer NOT NULL,
    wanted integer NOT NULL,
    waiting integer NOT NULL,
    expires_at timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

CREATE TABLE queue (
    id boolean DEFAULT true NOT NULL,
    paused boolean DEFAULT false NOT NULL,
    CONSTRAINT queue_id_check CHECK (id)
);

CREATE TABLE queue_minute (
    minute timestamp with time zone NOT NULL,
    ready integer,
    scheduled integer,
    blocked integer,
    running integer,
    waiting integer,
    oldest_seconds integer,
    completed integer DEFAULT 0 NOT NULL,
    failed integer DEFAULT 0 NOT NULL,
    cancelled integer DEFAULT 0 NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE schedule (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    cron text,
    time_zone text,
    interval_seconds integer,
    job json NOT NULL,
    paused boolean NOT NULL,
    overlap text NOT NULL,
    catch_up text NOT NULL,
    catch_up_limit integer NOT NULL,
    jitter_seconds integer NOT NULL,
    starts_at timestamp with time zone,
    ends_at timestamp with time zone,
    next_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schedule_catch_up_check CHECK ((catch_up = ANY (ARRAY['none'::text, 'one'::text, 'all'::text]))),
    CONSTRAINT schedule_catch_up_limit_check CHECK ((catch_up_limit > 0)),
    CONSTRAINT schedule_cron_xor_interval CHECK (((cron IS NULL) <> (interval_seconds IS NULL))),
    CONSTRAINT schedule_interval_seconds_check CHECK ((interval_seconds > 0)),
    CONSTRAINT schedule_jitter_seconds_check CHECK ((jitter_seconds >= 0)),
    CONSTRAINT schedule_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'cancel_running'::text]))),
    CONSTRAINT schedule_time_zone CHECK (((cron IS NULL) = (time_zone IS NULL)))
)
WITH (fillfactor='80');

CREATE TABLE schedule_run (
    schedule_id uuid NOT NULL,
    scheduled_for timestamp with time zone NOT NULL,
    is_manual boolean DEFAULT false NOT NULL,
    due_at timestamp with time zone NOT NULL,
    status text NOT NULL,
    reason text,
    missed_until timestamp with time zone,
    error json,
    job_id uuid,
    is_open boolean DEFAULT false NOT NULL,
    claimed_at timestamp with time zone,
    attempts smallint DEFAULT 0 NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schedule_run_error CHECK (((status = 'failed'::text) = (error IS NOT NULL))),
    CONSTRAINT schedule_run_job CHECK (((status = 'started'::text) = (job_id IS NOT NULL))),
    CONSTRAINT schedule_run_reason CHECK (((status = 'skipped'::text) = (reason IS NOT NULL))),
    CONSTRAINT schedule_run_reason_check CHECK ((reason = ANY (ARRAY['missed'::text, 'overlap'::text, 'too_many_waiting'::text]))),
    CONSTRAINT schedule_run_status_check CHECK ((status = ANY (ARRAY['pending'::text, 'started'::text, 'skipped'::text, 'failed'::text])))
)
WITH (fillfactor='80');

CREATE TABLE secret (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    ciphertext bytea NOT NULL,
    nonce bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT secret_nonce_check CHECK ((octet_length(nonce) = 12))
);

CREATE TABLE session (
    hash bytea NOT NULL,
    key_id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    used_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT session_hash_check CHECK ((octet_length(hash) = 32))
);

CREATE TABLE skill_packages (
    place text NOT NULL,
    digest bytea NOT NULL,
    trouble text,
    at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT skill_packages_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT skill_packages_trouble_check CHECK ((octet_length(trouble) <= 4000))
);

CREATE TABLE skill_version (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    version integer NOT NULL,
    number bigint NOT NULL,
    digest bytea NOT NULL,
    document text NOT NULL,
    needs text[] NOT NULL,
    needs_network boolean NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT skill_version_digest_check CHECK ((octet_length(digest) = 32)),
    CONSTRAINT skill_version_version_check CHECK ((version > 0))
);

ALTER TABLE skill_version ALTER COLUMN number ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME skill_version_number_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE tenant (
    id uuid NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    weight integer DEFAULT 1 NOT NULL,
    max_running integer,
    lane lane_state DEFAULT 'empty'::lane_state NOT NULL,
    virtual_time double precision DEFAULT 0 NOT NULL,
    charged_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    CONSTRAINT tenant_max_running CHECK ((max_running >= 0)),
    CONSTRAINT tenant_weight CHECK (((weight >= 1) AND (weight <= 1000)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.01', autovacuum_vacuum_cost_delay='0');

CREATE TABLE uncounted_end (
    job_id uuid NOT NULL
);

CREATE TABLE usage (
    tenant_id uuid NOT NULL,
    day date NOT NULL,
    skill text NOT NULL,
    agent text NOT NULL,
    model text NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    input_tokens bigint NOT NULL,
    output_tokens bigint NOT NULL,
    cost bigint NOT NULL,
    duration_ms bigint NOT NULL
)
WITH (fillfactor='80');

CREATE TABLE webhook (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    url text NOT NULL,
    is_of_jobs boolean DEFAULT false NOT NULL,
    description text DEFAULT ''::text NOT NULL,
    events text[] NOT NULL,
    skills text[] DEFAULT '{}'::text[] NOT NULL,
    agents text[] DEFAULT '{}'::text[] NOT NULL,
    include_job boolean DEFAULT false NOT NULL,
    status text DEFAULT 'active'::text NOT NULL,
    disabled_reason text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    disabled_at timestamp with time zone,
    CONSTRAINT webhook_disabled CHECK ((num_nulls(disabled_reason, disabled_at) =
CASE status
    WHEN 'disabled'::text THEN 0
    ELSE 2
END)),
    CONSTRAINT webhook_disabled_reason_check CHECK ((disabled_reason = ANY (ARRAY['gone'::text, 'failing'::text]))),
    CONSTRAINT webhook_status_check CHECK ((status = ANY (ARRAY['active'::text, 'paused'::text, 'disabled'::text])))
);

CREATE TABLE webhook_cursor (
    id boolean DEFAULT true NOT NULL,
    epoch integer NOT NULL,
    txid bigint NOT NULL,
    job_id uuid NOT NULL,
    seq bigint NOT NULL,
    CONSTRAINT webhook_cursor_id_check CHECK (id)
);

CREATE TABLE webhook_delivery (
    id uuid NOT NULL,
    webhook_id uuid NOT NULL,
    job_id uuid,
    seq bigint,
    type text NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    job_status text,
    url text,
    state text DEFAULT 'pending'::text NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    due_at timestamp with time zone DEFAULT now() NOT NULL,
    claim uuid,
    last_at timestamp with time zone,
    last_status smallint,
    last_ms integer,
    last_error text,
    last_response text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT webhook_delivery_job CHECK (((job_id IS NULL) = (seq IS NULL))),
    CONSTRAINT webhook_delivery_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'delivered'::text, 'dead'::text])))
)
WITH (fillfactor='70');

CREATE TABLE webhook_secret (
    id uuid NOT NULL,
    tenant_id uuid NOT NULL,
    webhook_id uuid,
    ciphertext bytea NOT NULL,
    nonce bytea NOT NULL,
    key_id text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone
);

CREATE TABLE webhook_state (
    webhook_id uuid NOT NULL,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    last_success_at timestamp with time zone,
    next_at timestamp with time zone
)
WITH (fillfactor='50');

CREATE TABLE worker (
    id uuid NOT NULL,
    name text NOT NULL,
    home text NOT NULL,
    version text NOT NULL,
    slots integer NOT NULL,
    programs text[] NOT NULL,
    program_versions jsonb DEFAULT '{}'::jsonb NOT NULL,
    skills text[] NOT NULL,
    providers text[] NOT NULL,
    isolation text DEFAULT 'off'::text NOT NULL,
    memory_limit text DEFAULT 'watched'::text NOT NULL,
    started_at timestamp with time zone DEFAULT now() NOT NULL,
    heartbeat_at timestamp with time zone DEFAULT now() NOT NULL,
    draining boolean DEFAULT false NOT NULL,
    stopped_at timestamp with time zone,
    renders_previews boolean DEFAULT false NOT NULL,
    CONSTRAINT worker_isolation_check CHECK ((isolation = ANY (ARRAY['namespaced'::text, 'landlocked'::text, 'off'::text]))),
    CONSTRAINT worker_memory_limit_check CHECK ((memory_limit = ANY (ARRAY['enforced'::text, 'watched'::text]))),
    CONSTRAINT worker_slots_check CHECK ((slots > 0))
)
WITH (fillfactor='50');

ALTER TABLE ONLY feed ATTACH PARTITION feed_other DEFAULT;

ALTER TABLE ONLY job_delta ATTACH PARTITION job_delta_other DEFAULT;

ALTER TABLE ONLY job_event ATTACH PARTITION job_event_other DEFAULT;

ALTER TABLE ONLY agent
    ADD CONSTRAINT agent_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY agent_version
    ADD CONSTRAINT agent_version_pkey PRIMARY KEY (tenant_id, name, version);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_hash_key UNIQUE (hash);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

ALTER TABLE ONLY approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (id);

ALTER TABLE ONLY asset
    ADD CONSTRAINT asset_pkey PRIMARY KEY (id);

ALTER TABLE ONLY blob_deletion
    ADD CONSTRAINT blob_deletion_pkey PRIMARY KEY (sha256);

ALTER TABLE ONLY budget_reservation
    ADD CONSTRAINT budget_reservation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY conversation
    ADD CONSTRAINT conversation_pkey PRIMARY KEY (id);

ALTER TABLE ONLY expired_log
    ADD CONSTRAINT expired_log_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY (tenant_id, txid, job_id, seq);

ALTER TABLE ONLY feed_other
    ADD CONSTRAINT feed_other_pkey PRIMARY KEY (tenant_id, txid, job_id, seq);

ALTER TABLE ONLY feed_state
    ADD CONSTRAINT feed_state_pkey PRIMARY KEY (id);

ALTER TABLE ONLY feed_tenant
    ADD CONSTRAINT feed_tenant_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY followed_job
    ADD CONSTRAINT followed_job_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY idempotency_key
    ADD CONSTRAINT idempotency_key_pkey PRIMARY KEY (tenant_id, key);

ALTER TABLE ONLY job_end
    ADD CONSTRAINT job_end_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY job_event
    ADD CONSTRAINT job_event_pkey PRIMARY KEY (job_id, seq);

ALTER TABLE ONLY job_event_other
    ADD CONSTRAINT job_event_other_pkey PRIMARY KEY (job_id, seq);

ALTER TABLE ONLY job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY job_token
    ADD CONSTRAINT job_token_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY job_webhook
    ADD CONSTRAINT job_webhook_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY maintenance
    ADD CONSTRAINT maintenance_pkey PRIMARY KEY (name);

ALTER TABLE ONLY paused_skill
    ADD CONSTRAINT paused_skill_pkey PRIMARY KEY (name);

ALTER TABLE ONLY preview_file
    ADD CONSTRAINT preview_file_pkey PRIMARY KEY (asset_id, page);

ALTER TABLE ONLY preview
    ADD CONSTRAINT preview_pkey PRIMARY KEY (asset_id);

ALTER TABLE ONLY provider_account
    ADD CONSTRAINT provider_account_pkey PRIMARY KEY (id);

ALTER TABLE ONLY provider_slice
    ADD CONSTRAINT provider_slice_pkey PRIMARY KEY (account_id, worker_id);

ALTER TABLE ONLY queue_minute
    ADD CONSTRAINT queue_minute_pkey PRIMARY KEY (minute);

ALTER TABLE ONLY queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (id);

ALTER TABLE ONLY run
    ADD CONSTRAINT run_pkey PRIMARY KEY (job_id);

ALTER TABLE ONLY schedule
    ADD CONSTRAINT schedule_name_key UNIQUE (tenant_id, name);

ALTER TABLE ONLY schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (id);

ALTER TABLE ONLY schedule_run
    ADD CONSTRAINT schedule_run_pkey PRIMARY KEY (schedule_id, scheduled_for);

ALTER TABLE ONLY secret
    ADD CONSTRAINT secret_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY session
    ADD CONSTRAINT session_pkey PRIMARY KEY (hash);

ALTER TABLE ONLY skill_packages
    ADD CONSTRAINT skill_packages_pkey PRIMARY KEY (place, digest);

ALTER TABLE ONLY skill
    ADD CONSTRAINT skill_pkey PRIMARY KEY (tenant_id, name);

ALTER TABLE ONLY skill_version
    ADD CONSTRAINT skill_version_pkey PRIMARY KEY (tenant_id, name, version);

ALTER TABLE ONLY submit_limit
    ADD CONSTRAINT submit_limit_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY tenant_budget
    ADD CONSTRAINT tenant_budget_pkey PRIMARY KEY (tenant_id);

ALTER TABLE ONLY tenant
    ADD CONSTRAINT tenant_name_key UNIQUE (name);

ALTER TABLE ONLY tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (id);

ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_pkey PRIMARY KEY (tenant_id, day, skill, agent, model);

ALTER TABLE ONLY webhook_cursor
    ADD CONSTRAINT webhook_cursor_pkey PRIMARY KEY (id);

ALTER TABLE ONLY webhook_delivery
    ADD CONSTRAINT webhook_delivery_event UNIQUE (webhook_id, job_id, seq);

ALTER TABLE ONLY webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id);

ALTER TABLE ONLY webhook
    ADD CONSTRAINT webhook_pkey PRIMARY KEY (id);

ALTER TABLE ONLY webhook_secret
    ADD CONSTRAINT webhook_secret_pkey PRIMARY KEY (id);

ALTER TABLE ONLY webhook_state
    ADD CONSTRAINT webhook_state_pkey PRIMARY KEY (webhook_id);

ALTER TABLE ONLY worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

CREATE INDEX api_key_revoked ON api_key USING btree (revoked_at) WHERE (revoked_at IS NOT NULL);

CREATE INDEX api_key_tenant ON api_key USING btree (tenant_id);

CREATE INDEX approval_expiry ON approval USING btree (expires_at) WHERE (status = 'pending'::approval_status);

CREATE INDEX approval_job ON approval USING btree (job_id, requested_seq);

CREATE INDEX approval_pending ON approval USING btree (tenant_id, id DESC) WHERE (status = 'pending'::approval_status);

CREATE INDEX approval_tenant ON approval USING btree (tenant_id, id DESC);

CREATE INDEX asset_job ON asset USING btree (job_id) WHERE (job_id IS NOT NULL);

CREATE INDEX asset_sha256 ON asset USING btree (sha256);

CREATE INDEX asset_tenant ON asset USING btree (tenant_id, id DESC) WHERE visible;

CREATE INDEX asset_unseen ON asset USING btree (created_at) WHERE (NOT visible);

CREATE INDEX asset_upload ON asset USING btree (used_at) WHERE (visible AND (job_id IS NULL));

CREATE INDEX blob_deletion_expires_at ON blob_deletion USING btree (expires_at);

CREATE INDEX budget_reservation_tenant ON budget_reservation USING btree (tenant_id);

CREATE UNIQUE INDEX conversation_external_id ON conversation USING btree (tenant_id, external_id) WHERE (external_id IS NOT NULL);

CREATE INDEX conversation_tenant ON conversation USING btree (tenant_id, id DESC);

CREATE INDEX feed_txid ON ONLY feed USING btree (txid);

CREATE INDEX feed_other_txid_idx ON feed_other USING btree (txid);

CREATE INDEX followed_job_until ON followed_job USING btree (until);

CREATE INDEX idempotency_key_created ON idempotency_key USING btree (created_at);

CREATE INDEX idempotency_key_job ON idempotency_key USING btree (job_id);

CREATE UNIQUE INDEX job_conversation ON job USING btree (conversation_id, "position") WHERE (conversation_id IS NOT NULL);

CREATE INDEX job_delta_job ON ONLY job_delta USING btree (job_id, seq);

CREATE INDEX job_delta_other_job_id_seq_idx ON job_delta_other USING btree (job_id, seq);

CREATE INDEX job_external_id ON job USING btree (tenant_id, external_id, id DESC) WHERE (external_id IS NOT NULL);

CREATE INDEX job_metadata ON job USING gin (((metadata)::jsonb) jsonb_path_ops) WHERE ((metadata)::text <> '{}'::text);

CREATE INDEX job_skill_version ON job USING btree (tenant_id, skill, skill_version) WHERE (skill_version IS NOT NULL);

CREATE INDEX job_tenant ON job USING btree (tenant_id, id DESC);

CREATE INDEX job_token_expiry ON job_token USING btree (expires_at);

CREATE INDEX job_token_key ON job_token USING btree (key_id);

CREATE INDEX job_webhook_webhook ON job_webhook USING btree (webhook_id);

CREATE INDEX preview_due ON preview USING btree (due_at) WHERE (status = 'pending'::preview_status);

CREATE INDEX preview_file_sha256 ON preview_file USING btree (sha256);

CREATE UNIQUE INDEX run_active_in_conversation ON run USING btree (conversation_id) WHERE ((conversation_id IS NOT NULL) AND (state = ANY (ARRAY['scheduled'::run_state, 'ready'::run_state, 'running'::run_state, 'waiting'::run_state])));

CREATE INDEX run_blocked ON run USING btree (job_id) WHERE (state = 'blocked'::run_state);

CREATE INDEX run_conversation ON run USING btree (conversation_id, "position") WHERE (conversation_id IS NOT NULL);

CREATE INDEX run_missed_cancellation ON run USING btree (job_id) WHERE ((state <> 'running'::run_state) AND cancel_requested);

CREATE INDEX run_ready ON run USING btree (tenant_id, COALESCE(skill, ''::text), COALESCE(hash_array_extended(needs, (0)::bigint), (0)::bigint), needs_network, rank) WHERE (state = 'ready'::run_state);

CREATE INDEX run_running ON run USING btree (tenant_id, worker_id) WHERE (state = 'running'::run_state);

CREATE INDEX run_scheduled ON run USING btree (run_at) WHERE (state = 'scheduled'::run_state);

CREATE INDEX run_submit_limit ON run USING btree (tenant_id) WHERE counts_toward_limit;

CREATE INDEX run_waiting ON run USING btree (job_id) WHERE (state = 'waiting'::run_state);

CREATE INDEX schedule_next ON schedule USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX schedule_run_old ON schedule_run USING btree (scheduled_for) WHERE (status <> 'pending'::text);

CREATE INDEX schedule_run_open ON schedule_run USING btree (schedule_id) WHERE is_open;

CREATE INDEX schedule_run_pending ON schedule_run USING btree (schedule_id, scheduled_for) WHERE (status = 'pending'::text);

CREATE INDEX schedule_tenant ON schedule USING btree (tenant_id, id DESC);

CREATE INDEX session_key ON session USING btree (key_id);

CREATE INDEX skill_packages_digest ON skill_packages USING btree (digest);

CREATE INDEX skill_version_digest ON skill_version USING btree (digest);

CREATE UNIQUE INDEX skill_version_number ON skill_version USING btree (number);

CREATE INDEX tenant_at_cap ON tenant USING btree (id) WHERE (lane = 'at_cap'::lane_state);

CREATE INDEX tenant_ready ON tenant USING btree (virtual_time, charged_at) WHERE (lane = 'ready'::lane_state);

CREATE INDEX webhook_delivery_claimed ON webhook_delivery USING btree (webhook_id) WHERE (claim IS NOT NULL);

CREATE INDEX webhook_delivery_due ON webhook_delivery USING btree (webhook_id, due_at) WHERE (state = 'pending'::text);

CREATE INDEX webhook_delivery_job ON webhook_delivery USING btree (job_id, id DESC) WHERE (job_id IS NOT NULL);

CREATE INDEX webhook_delivery_test ON webhook_delivery USING btree (created_at) WHERE (job_id IS NULL);

CREATE INDEX webhook_delivery_webhook ON webhook_delivery USING btree (webhook_id, id DESC);

CREATE UNIQUE INDEX webhook_origin ON webhook USING btree (tenant_id, url) WHERE is_of_jobs;

CREATE UNIQUE INDEX webhook_secret_current ON webhook_secret USING btree (webhook_id) WHERE ((expires_at IS NULL) AND (webhook_id IS NOT NULL));

CREATE UNIQUE INDEX webhook_secret_default ON webhook_secret USING btree (tenant_id) WHERE ((expires_at IS NULL) AND (webhook_id IS NULL));

CREATE INDEX webhook_secret_tenant ON webhook_secret USING btree (tenant_id);

CREATE INDEX webhook_secret_webhook ON webhook_secret USING btree (webhook_id);

CREATE INDEX webhook_state_next ON webhook_state USING btree (next_at) WHERE (next_at IS NOT NULL);

CREATE INDEX webhook_tenant ON webhook USING btree (tenant_id, id DESC) WHERE (NOT is_of_jobs);

CREATE INDEX worker_alive ON worker USING btree (id) WHERE (stopped_at IS NULL);

ALTER INDEX feed_pkey ATTACH PARTITION feed_other_pkey;

ALTER INDEX feed_txid ATTACH PARTITION feed_other_txid_idx;

ALTER INDEX job_delta_job ATTACH PARTITION job_delta_other_job_id_seq_idx;

ALTER INDEX job_event_pkey ATTACH PARTITION job_event_other_pkey;

CREATE TRIGGER refuse_deleted_blob BEFORE INSERT ON asset FOR EACH ROW EXECUTE FUNCTION refuse_deleted_blob();

CREATE TRIGGER refuse_deleted_blob BEFORE INSERT ON preview_file FOR EACH ROW EXECUTE FUNCTION refuse_deleted_blob();

CREATE TRIGGER run_added AFTER INSERT ON run REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION mark_filled_lanes_ready();

CREATE TRIGGER skill_resumed AFTER DELETE ON paused_skill FOR EACH STATEMENT EXECUTE FUNCTION mark_runnable_lanes_ready();

CREATE TRIGGER tenant_cap BEFORE UPDATE OF max_running ON tenant FOR EACH STATEMENT EXECUTE FUNCTION wait_for_claims();

CREATE TRIGGER worker_can_more AFTER INSERT OR UPDATE OF skills, programs, isolation ON worker FOR EACH STATEMENT EXECUTE FUNCTION mark_runnable_lanes_ready();

ALTER TABLE ONLY agent
    ADD CONSTRAINT agent_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY agent_version
    ADD CONSTRAINT agent_version_tenant_id_name_fkey FOREIGN KEY (tenant_id, name) REFERENCES agent(tenant_id, name);

ALTER TABLE ONLY api_key
    ADD CONSTRAINT api_key_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY asset
    ADD CONSTRAINT asset_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY budget_reservation
    ADD CONSTRAINT budget_reservation_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant_budget(tenant_id);

ALTER TABLE ONLY conversation
    ADD CONSTRAINT conversation_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY feed_tenant
    ADD CONSTRAINT feed_tenant_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE CASCADE;

ALTER TABLE ONLY job
    ADD CONSTRAINT job_skill_version FOREIGN KEY (tenant_id, skill, skill_version) REFERENCES skill_version(tenant_id, name, version);

ALTER TABLE ONLY job_token
    ADD CONSTRAINT job_token_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id) ON DELETE CASCADE;

ALTER TABLE ONLY job_webhook
    ADD CONSTRAINT job_webhook_job_id_fkey FOREIGN KEY (job_id) REFERENCES job(id) ON DELETE CASCADE;

ALTER TABLE ONLY job_webhook
    ADD CONSTRAINT job_webhook_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE;

ALTER TABLE ONLY preview
    ADD CONSTRAINT preview_asset_id_fkey FOREIGN KEY (asset_id) REFERENCES asset(id) ON DELETE CASCADE;

ALTER TABLE ONLY preview_file
    ADD CONSTRAINT preview_file_asset_id_fkey FOREIGN KEY (asset_id) REFERENCES preview(asset_id) ON DELETE CASCADE;

ALTER TABLE ONLY provider_slice
    ADD CONSTRAINT provider_slice_account_id_fkey FOREIGN KEY (account_id) REFERENCES provider_account(id) ON DELETE CASCADE;

ALTER TABLE ONLY schedule_run
    ADD CONSTRAINT schedule_run_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES schedule(id) ON DELETE CASCADE;

ALTER TABLE ONLY schedule
    ADD CONSTRAINT schedule_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY secret
    ADD CONSTRAINT secret_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY session
    ADD CONSTRAINT session_key_id_fkey FOREIGN KEY (key_id) REFERENCES api_key(id) ON DELETE CASCADE;

ALTER TABLE ONLY skill
    ADD CONSTRAINT skill_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY skill_version
    ADD CONSTRAINT skill_version_tenant_id_name_fkey FOREIGN KEY (tenant_id, name) REFERENCES skill(tenant_id, name);

ALTER TABLE ONLY submit_limit
    ADD CONSTRAINT submit_limit_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY tenant_budget
    ADD CONSTRAINT tenant_budget_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id);

ALTER TABLE ONLY usage
    ADD CONSTRAINT usage_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_delivery
    ADD CONSTRAINT webhook_delivery_job_id_fkey FOREIGN KEY (job_id) REFERENCES job(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_delivery
    ADD CONSTRAINT webhook_delivery_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_secret
    ADD CONSTRAINT webhook_secret_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_secret
    ADD CONSTRAINT webhook_secret_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook_state
    ADD CONSTRAINT webhook_state_webhook_id_fkey FOREIGN KEY (webhook_id) REFERENCES webhook(id) ON DELETE CASCADE;

ALTER TABLE ONLY webhook
    ADD CONSTRAINT webhook_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenant(id) ON DELETE CASCADE;
