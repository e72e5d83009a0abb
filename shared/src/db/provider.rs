//! Accounts at model providers: quota, pauses and circuit breakers, which all workers share.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::id::WorkerId;
use crate::provider::AccountLimits;

/// The failures in a row after which a circuit opens.
const FAILURES_TO_OPEN: i32 = 5;
/// The shortest time from the first of them to the last: one bad moment of a provider is no outage.
const TIME_TO_OPEN: Duration = Duration::from_secs(2);
/// The time for which a circuit opens first, doubled when a probe fails.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// The longest time for which a circuit is open before the next probe.
const MAX_OPEN_TIME: Duration = Duration::from_secs(60);
/// The time after which a probe without a result counts as failed, and another may be made.
const PROBE_TIME: Duration = Duration::from_secs(30);
/// How far ahead starts are leased. A start that is leased and not used is lost, and so is as little as this.
const HORIZON: Duration = Duration::from_secs(2);
/// The time after which the calls of a silent worker are others' again.
const SLICE_TIME: Duration = Duration::from_secs(10);

/// The state of an account. Durations are from the time of the answer.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccountState {
    /// The rest of the pause that the provider asked for.
    pub paused_for: Duration,
    /// Failures in a row.
    pub failures: i32,
    /// The rest of the time for which the circuit is open; zero if it is half open; `None` if it is closed.
    pub open_for: Option<Duration>,
}

/// What a worker asks for.
#[derive(Clone, Debug)]
pub struct QuotaDemand {
    /// The tokens of each call.
    pub costs: Vec<f64>,
    /// What earlier calls used beyond the tokens that were leased for them; negative if it was less.
    pub correction: f64,
    /// Calls in progress.
    pub running: i32,
    /// Calls that wait.
    pub waiting: i32,
}

/// What a worker may use.
#[derive(Clone, Debug)]
pub struct QuotaLease {
    /// The starts of calls, from the time of the answer.
    pub starts: Vec<Duration>,
    /// The next start that is not leased to anyone.
    pub next_start: Duration,
    /// The calls that may be in progress at once; `None` for no limit.
    pub may_run: Option<i32>,
}

/// A provider that is not asked as usual.
#[derive(Clone, Debug)]
pub struct ProviderCondition {
    /// The provider.
    pub provider: String,
    /// The end of its outage, or of the wait for the next probe.
    pub open_until: Option<DateTime<Utc>>,
    /// The end of the pause, or the time of the next free request or token.
    pub limited_until: Option<DateTime<Utc>>,
}

/// The state of an account, which is made if it is missing.
pub async fn get_or_insert_state(
    db: impl PgExecutor<'_>,
    account: &str,
    provider: &str,
) -> sqlx::Result<AccountState> {
    let row = sqlx::query!(
        r#"
        with known as (
            select paused_until, failures, open_until from provider_account where id = $1
        ),
        made as (
            insert into provider_account (id, provider)
            select $1, $2 where not exists (select from known)
            on conflict (id) do nothing
        )
        select
            coalesce(extract(epoch from known.paused_until - now())::float8, 0) as "paused_for!",
            coalesce(known.failures, 0) as "failures!",
            extract(epoch from known.open_until - now())::float8 as open_for
        from (select) as one left join known on true
        "#,
        account,
        provider,
    )
    .fetch_one(db)
    .await?;
    Ok(AccountState {
        paused_for: duration(row.paused_for),
        failures: row.failures,
        open_for: row.open_for.map(duration),
    })
}

/// Leases quota of an account that exists.
pub async fn lease_quota(
    db: impl PgExecutor<'_>,
    account: &str,
    worker: WorkerId,
    limits: &AccountLimits,
    demand: &QuotaDemand,
) -> sqlx::Result<QuotaLease> {
    let row = sqlx::query!(
        r#"
        select starts as "starts!", next_start as "next_start!", may_run
        from lease_provider_quota($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        "#,
        account,
        worker.0,
        limits.seconds_per_request(),
        limits.seconds_per_token(),
        limits.max_concurrent(),
        HORIZON.as_secs_f64(),
        SLICE_TIME.as_secs_f64(),
        &demand.costs,
        demand.correction,
        demand.running,
        demand.waiting,
    )
    .fetch_one(db)
    .await?;
    Ok(QuotaLease {
        starts: row.starts.into_iter().map(duration).collect(),
        next_start: duration(row.next_start),
        may_run: row.may_run,
    })
}

/// Notes that the provider asked for a pause. A longer one that is known stays.
pub async fn pause(db: impl PgExecutor<'_>, account: &str, pause: Duration) -> sqlx::Result<()> {
    sqlx::query!(
        "update provider_account set paused_until = greatest(paused_until, now() + $2 * interval '1 second') where id = $1",
        account,
        pause.as_secs_f64(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes an outage, which may open the circuit.
pub async fn note_failure(db: impl PgExecutor<'_>, account: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "select note_provider_failure($1, $2, $3, $4, $5)",
        account,
        FAILURES_TO_OPEN,
        TIME_TO_OPEN.as_secs_f64(),
        OPEN_TIME.as_secs_f64(),
        MAX_OPEN_TIME.as_secs_f64(),
    )
    .fetch_one(db)
    .await?;
    Ok(())
}

/// Notes a reply: no failures in a row, and the circuit is closed.
pub async fn note_reply(db: impl PgExecutor<'_>, account: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "update provider_account set failures = 0, failing_since = null, failed_at = null, open_until = null, openings = 0,
             probe_until = null
         where id = $1 and (failures > 0 or open_until is not null)",
        account,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Begins a probe of a half-open circuit. `false` if another worker probes, or the circuit is open.
pub async fn begin_probe(db: impl PgExecutor<'_>, account: &str) -> sqlx::Result<bool> {
    let begun = sqlx::query!(
        "update provider_account set probe_until = now() + $2 * interval '1 second'
         where id = $1 and open_until <= now() and (probe_until is null or probe_until <= now())",
        account,
        PROBE_TIME.as_secs_f64(),
    )
    .execute(db)
    .await?;
    Ok(begun.rows_affected() > 0)
}

/// The providers that are not asked as usual. A provider with several accounts is as its best account.
pub async fn list_conditions(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<ProviderCondition>> {
    sqlx::query_as!(
        ProviderCondition,
        r#"
        select
            provider,
            case when bool_and(open_until is not null) then min(greatest(open_until, now())) end as open_until,
            case when bool_and(limited_until > now() + interval '1 second') then min(limited_until) end as limited_until
        from (
            select provider, open_until, coalesce(greatest(paused_until, requests_at, tokens_at), '-infinity') as limited_until
            from provider_account
        ) as account
        group by provider
        having bool_and(open_until is not null or limited_until > now() + interval '1 second')
        order by provider
        "#,
    )
    .fetch_all(db)
    .await
}

fn duration(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds.max(0.0)).unwrap_or_default()
}
