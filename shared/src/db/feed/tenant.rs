//! The tenants whose jobs go to the feed.

use std::time::{Duration, Instant};

use sqlx::PgExecutor;
use uuid::Uuid;

use super::super::Pool;
use crate::id::{JobId, TenantId};

/// Runs that are marked in one statement.
const RUNS_AT_ONCE: i64 = 500;
/// The longest that the first stream of a tenant waits for transactions that began before it.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pauses while it waits.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// Why the jobs of a tenant do not go to the feed yet.
#[derive(Debug, thiserror::Error)]
pub enum EnableError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A transaction that wrote something stayed open for too long.
    #[error("a transaction has been open for too long; feed_horizon_seconds shows which one")]
    HeldUp,
}

/// Makes the tenant's jobs go to the feed, also its unfinished ones, and returns when they do.
///
/// A job whose insert began before the tenant was known is not marked by it. So the unfinished jobs are marked when all
/// transactions of that time are over, and the feed counts as complete from when those are over that began before the
/// last mark.
pub async fn enable(db: &Pool, tenant: TenantId) -> Result<(), EnableError> {
    sqlx::query!(
        "insert into feed_tenant (tenant_id) values ($1) on conflict do nothing",
        tenant.0,
    )
    .execute(db)
    .await?;
    settle(db).await?;
    mark_runs(db, tenant).await?;
    let since = settle(db).await?;
    sqlx::query!(
        "update feed_tenant set since = $2 where tenant_id = $1 and since is null",
        tenant.0,
        since,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Returns when all transactions that are open now are over, and a number that later ones will have.
async fn settle(db: &Pool) -> Result<i64, EnableError> {
    let next = sqlx::query_scalar!(
        r#"select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as "next!""#
    )
    .fetch_one(db)
    .await?;
    let (begun_at, mut pause) = (Instant::now(), FIRST_PAUSE);
    while super::horizon(db).await? < next {
        if begun_at.elapsed() > PATIENCE {
            return Err(EnableError::HeldUp);
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    Ok(next)
}

/// Marks the unfinished jobs of the tenant. Those that someone else has locked come in a later round, so that there is
/// no deadlock.
async fn mark_runs(db: &Pool, tenant: TenantId) -> Result<(), EnableError> {
    let begun_at = Instant::now();
    let mut after = JobId(Uuid::nil());
    loop {
        let marked = sqlx::query_scalar!(
            r#"with next as materialized (
                   select job_id from run
                   where tenant_id = $1 and not fed and job_id > $2
                   order by job_id
                   limit $3
                   for no key update skip locked
               )
               update run set fed = true from next where run.job_id = next.job_id returning run.job_id"#,
            tenant.0,
            after.0,
            RUNS_AT_ONCE,
        )
        .fetch_all(db)
        .await?;
        match marked.into_iter().max() {
            Some(last) => after = JobId(last),
            None if !has_unmarked(db, tenant).await? => return Ok(()),
            None if begun_at.elapsed() > PATIENCE => return Err(EnableError::HeldUp),
            None => {
                after = JobId(Uuid::nil());
                tokio::time::sleep(FIRST_PAUSE).await;
            }
        }
    }
}

async fn has_unmarked(db: &Pool, tenant: TenantId) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from run where tenant_id = $1 and not fed) as "exists!""#,
        tenant.0,
    )
    .fetch_one(db)
    .await
}

/// Notes that someone follows these tenants.
pub async fn touch(db: impl PgExecutor<'_>, tenants: &[TenantId]) -> sqlx::Result<()> {
    let tenants: Vec<_> = tenants.iter().map(|tenant| tenant.0).collect();
    sqlx::query!(
        "update feed_tenant set used_at = now() where tenant_id = any($1)",
        &tenants,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Ends the feed of tenants that had no stream and no webhook for 30 days.
pub async fn clear_unused(db: &Pool) -> sqlx::Result<()> {
    let unused = sqlx::query_scalar!(
        "delete from feed_tenant
         where used_at < now() - interval '30 days'
           and not exists (select from webhook where webhook.tenant_id = feed_tenant.tenant_id)
         returning tenant_id"
    )
    .fetch_all(db)
    .await?;
    if unused.is_empty() {
        return Ok(());
    }
    sqlx::query!(
        "update run set fed = false
         where job_id in (
             select job_id from run where tenant_id = any($1) and fed order by job_id for no key update skip locked
         )",
        &unused,
    )
    .execute(db)
    .await?;
    Ok(())
}
