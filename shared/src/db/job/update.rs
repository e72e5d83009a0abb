//! Updates of jobs.

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use sqlx::PgExecutor;

use crate::db::log::Lease;
use crate::db::{Connection, JsonText};
use crate::id::{JobId, TenantId};
use crate::job::{JobRequest, Priority};
use crate::model_name::ModelName;

/// The changes to a queued job. A field that is `None` does not change.
#[derive(Clone, Debug, Default)]
pub struct JobChange {
    /// The new priority.
    pub priority: Option<Priority>,
    /// The new earliest start. A past time means now.
    pub run_at: Option<DateTime<Utc>>,
    /// The new metadata.
    pub metadata: Option<Map<String, Value>>,
}

/// Changes a queued job whose run the caller has locked in this transaction. Returns `false` if the job is not queued.
/// `request` is the stored request.
pub async fn update_queued(
    db: &mut Connection,
    tenant: TenantId,
    job: JobId,
    request: &JobRequest,
    change: &JobChange,
) -> sqlx::Result<bool> {
    let priority = change.priority.unwrap_or(request.priority);
    let moved = sqlx::query_scalar!(
        r#"with moved as (
               update run set
                   run_at = case when $3::timestamptz is null then run_at else greatest($3, now()) end,
                   rank = case when $3 is null then run_at else greatest($3, now()) end - $4 * interval '1 second',
                   state = case
                       when state = 'blocked' or $3 is null then state
                       when $3 > now() then 'scheduled'::run_state
                       else 'ready'
                   end
               where job_id = $1 and tenant_id = $2 and state in ('scheduled', 'ready', 'blocked')
               returning tenant_id, state
           ),
           opened as (
               select mark_lanes_ready(array_agg(tenant_id) filter (where state = 'ready'), null) from moved
           )
           select (select count(*) from moved) as "count!" from opened"#,
        job.0,
        tenant.0,
        change.run_at,
        priority.head_start().num_seconds() as f64,
    )
    .fetch_one(&mut *db)
    .await?;
    if moved == 0 {
        return Ok(false);
    }
    let request = JobRequest {
        priority,
        ..request.clone()
    };
    store(db, tenant, job, &request, change.metadata.as_ref()).await?;
    Ok(true)
}

/// Sets the model of a job if the lease is still valid.
pub async fn set_model(
    db: impl PgExecutor<'_>,
    lease: Lease,
    model: &ModelName,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update job set model = $3 from run where run.job_id = $1 and run.lease = $2 and job.id = run.job_id",
        lease.job.0,
        lease.number,
        model.to_string(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Replaces the metadata of a job in any state. `request` is the stored request, read in this transaction.
pub async fn update_metadata(
    db: &mut Connection,
    tenant: TenantId,
    job: JobId,
    request: &JobRequest,
    metadata: &Map<String, Value>,
) -> sqlx::Result<()> {
    store(db, tenant, job, request, Some(metadata)).await
}

async fn store(
    db: &mut Connection,
    tenant: TenantId,
    job: JobId,
    request: &JobRequest,
    metadata: Option<&Map<String, Value>>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update job set request = $3, metadata = coalesce($4, metadata) where id = $1 and tenant_id = $2",
        job.0,
        tenant.0,
        JsonText::of(request) as JsonText,
        metadata.map(JsonText::of) as Option<JsonText>,
    )
    .execute(db)
    .await
    .map(drop)
}
