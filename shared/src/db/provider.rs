//! Accounts at model providers: quota, pauses and circuit breakers, shared by all workers.

use std::time::Duration;

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use crate::id::WorkerId;
use crate::provider::AccountLimits;

/// The number of consecutive failures after which a circuit opens.
const FAILURES_TO_OPEN: i32 = 5;
/// The minimum time from the first of these failures to the last, because a brief failure is not an outage.
const TIME_TO_OPEN: Duration = Duration::from_secs(2);
/// The time for which a circuit first opens. It doubles after each failed probe.
const OPEN_TIME: Duration = Duration::from_secs(5);
/// The maximum time for which a circuit is open before the next probe.
const MAX_OPEN_TIME: Duration = Duration::from_secs(60);
/// The time after which a probe without a result counts as failed and another can start.
const PROBE_TIME: Duration = Duration::from_secs(30);
/// The time in advance for which starts are leased. It is short, because an unused leased start is lost.
const HORIZON: Duration = Duration::from_secs(2);
/// The time after which the calls of an unresponsive worker are available to others.
const SLICE_TIME: Duration = Duration::from_secs(10);

/// The state of an account. Durations are relative to the time of the response.
#[derive(Clone, Copy, Debug, Default)]
pub struct AccountState {
    /// The remaining pause that the provider requested.
    pub paused_for: Duration,
    /// The number of consecutive failures.
    pub failures: i32,
    /// The remaining time for which the circuit is open. Zero if it is half open, `None` if it is closed.
    pub open_for: Option<Duration>,
}

/// The quota that a worker requests.
#[derive(Clone, Debug)]
pub struct QuotaDemand {
    /// The tokens of each call.
    pub costs: Vec<f64>,
    /// The tokens that earlier calls used in excess of their leases. Negative if they used fewer.
    pub correction: f64,
    /// The number of calls in progress.
    pub running: i32,
    /// The number of waiting calls.
    pub waiting: i32,
}

/// The quota that a worker receives.
#[derive(Clone, Debug)]
pub struct QuotaLease {
    /// The start times of calls, relative to the time of the response.
    pub starts: Vec<Duration>,
    /// The next start time that is not leased.
    pub next_start: Duration,
    /// The maximum number of concurrent calls. `None` is unlimited.
    pub may_run: Option<i32>,
}

/// A provider with an outage, a pause or an exhausted quota.
#[derive(Clone, Debug)]
pub struct ProviderCondition {
    /// The provider.
    pub provider: String,
    /// The end of the outage, or of the wait for the next probe.
    pub open_until: Option<DateTime<Utc>>,
    /// The end of the pause, or the time at which the next request or token is available.
    pub limited_until: Option<DateTime<Utc>>,
}

/// Returns the state of an account. Inserts the account if it is missing.
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

/// Leases quota of an existing account.
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

/// Records a pause that the provider requested. Keeps the longer pause if one is already known.
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

/// Records an outage, which may open the circuit.
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

/// Records a reply, which resets the failures and closes the circuit.
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

/// Starts a probe of a half-open circuit. Returns `false` if another worker is probing or the circuit is not half
/// open.
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

/// Lists the providers with an outage, a pause or an exhausted quota. A provider has the state of its best account.
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
