-- Accounts at model providers: their quota, pauses and circuit breakers, which all workers share.
--
-- These tables are unlogged: they say what holds for the next seconds, and a restart of the database may forget it.

-- An account at a provider: the name of the provider and a digest of the key. Never the key.
create unlogged table provider_account (
    id text primary key,
    provider text not null,
    -- The time of the next request that is not leased yet, and that from which on tokens are not leased yet.
    requests_at timestamptz not null default '-infinity',
    tokens_at timestamptz not null default '-infinity',
    -- The provider allows no request until then (`Retry-After`).
    paused_until timestamptz,
    -- Outages in a row, and the time of the first and the last.
    failures integer not null default 0,
    failing_since timestamptz,
    failed_at timestamptz,
    -- The circuit is open until then; after that, half open: one call at a time probes. Null if it is closed.
    open_until timestamptz,
    -- How often it has opened since the last reply.
    openings integer not null default 0,
    -- A worker probes until then.
    probe_until timestamptz
) with (fillfactor = 50);

-- The calls that a worker may have in progress at an account. A worker that is gone does not renew its slice, and its
-- calls are others' again.
create unlogged table provider_slice (
    account_id text not null references provider_account on delete cascade,
    worker_id uuid not null,
    held integer not null,
    wanted integer not null,
    waiting integer not null,
    expires_at timestamptz not null,
    primary key (account_id, worker_id)
) with (fillfactor = 50);

-- Leases quota of an account to a worker: a start for each of the calls with these costs in tokens, as far as the
-- starts are within the horizon. The starts of an account, of all workers together, are as far apart as its limits
-- want, so that no second has more than its share; a null limit is none. `correction` is what earlier calls have cost
-- more (or less, if negative) than was leased for them.
--
-- There may be more costs than calls that wait: a busy worker leases ahead of calls that it expects.
--
-- Locks the account's row. Returns the starts as seconds from now, the second in which it is worth asking again, and
-- the calls that the worker may have in progress at once.
create function lease_provider_quota(
    account text, worker uuid, request_seconds float8, token_seconds float8, max_concurrent integer,
    horizon float8, lease_seconds float8, costs float8[], correction float8, calls_running integer, calls_waiting integer,
    out starts float8[], out next_start float8, out may_run integer
)
language plpgsql as $$
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

-- Notes an outage of an account. The circuit opens after `failures_to_open` in a row within a minute of each other, the
-- first of them at least `seconds_to_open` ago, and again for twice as long if a probe fails.
create function note_provider_failure(account text, failures_to_open integer, seconds_to_open float8, open_seconds float8,
    max_open_seconds float8)
returns void
language sql as $$
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
