//! Tenants whose jobs are in the feed.

use std::time::{Duration, Instant};

use sqlx::PgExecutor;
use uuid::Uuid;

use super::super::Pool;
use crate::id::{JobId, TenantId};

/// The number of runs that one statement marks.
const RUNS_AT_ONCE: i64 = 500;
/// The maximum wait of a tenant's first stream for transactions that began before it.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The delays between checks during that wait.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The reason why a tenant could not be added to the feed.
#[derive(Debug, thiserror::Error)]
pub enum EnableError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// A transaction that wrote something stayed open for too long.
    #[error("a transaction has been open for too long; feed_horizon_seconds shows which one")]
    HeldUp,
}

/// Adds a tenant's jobs to the feed, including its unfinished jobs. Returns when the feed is complete.
///
/// A job whose insert began before the tenant was added is not in the feed. Therefore the unfinished jobs are marked
/// after all transactions of that time have ended. The feed counts as complete after the transactions that began
/// before the last mark have ended.
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

/// Waits until all transactions that are open now have ended. Returns the lowest number that a later transaction can
/// have.
async fn settle(db: &Pool) -> Result<i64, EnableError> {
    let next = sqlx::query_scalar!(
        r#"select pg_snapshot_xmax(pg_current_snapshot())::text::bigint as "next!""#
    )
    .fetch_one(db)
    .await?;
    let (begun_at, mut pause) = (Instant::now(), FIRST_PAUSE);
    while super::horizon(db).await? < next {
        if begun_at.elapsed() > TIMEOUT {
            return Err(EnableError::HeldUp);
        }
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
    }
    Ok(next)
}

/// Marks the unfinished jobs of the tenant. Jobs that another transaction has locked are marked in a later round, to
/// avoid deadlocks.
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
            None if begun_at.elapsed() > TIMEOUT => return Err(EnableError::HeldUp),
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

/// Records that the feeds of these tenants are in use.
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

/// Removes tenants from the feed that were not used for 30 days and have no webhook.
pub async fn clear_unused(db: &Pool) -> sqlx::Result<()> {
    // In one transaction, so that a tenant that enables its feed in the meantime waits for both statements.
    let mut transaction = db.begin().await?;
    let unused = sqlx::query_scalar!(
        "delete from feed_tenant
         where used_at < now() - interval '30 days'
           and not exists (select from webhook where webhook.tenant_id = feed_tenant.tenant_id)
         returning tenant_id"
    )
    .fetch_all(&mut *transaction)
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
    .execute(&mut *transaction)
    .await?;
    transaction.commit().await
}
