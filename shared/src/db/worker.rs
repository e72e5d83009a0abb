//! Workers: registration, heartbeats and shutdown.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sqlx::PgExecutor;
use sqlx::types::Json;
use utoipa::ToSchema;

use crate::id::WorkerId;
use crate::sandbox::{Isolation, MemoryLimit};

/// A live worker.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Worker {
    /// The id of the worker. Each start of a worker process has a new one.
    pub id: WorkerId,
    /// The host and the process.
    pub name: String,
    /// The data directory.
    pub home: String,
    /// The version of the program.
    pub version: String,
    /// The maximum number of concurrent jobs.
    pub slots: i32,
    /// The number of running jobs.
    pub running: i64,
    /// The programs that the worker has found, by name.
    pub programs: Vec<String>,
    /// The versions that these programs report. Available some seconds after the start of the worker.
    #[schema(value_type = BTreeMap<String, String>, example = json!({"pandoc": "2.17.1.1"}))]
    pub program_versions: Json<BTreeMap<String, String>>,
    /// The skills that the worker can run.
    pub skills: Vec<String>,
    /// The model providers for which the worker has an API key.
    pub providers: Vec<String>,
    /// The isolation of the commands of jobs.
    pub isolation: Isolation,
    /// The mechanism that limits the memory of each command.
    pub memory_limit: MemoryLimit,
    /// The time at which the worker started.
    pub started_at: DateTime<Utc>,
    /// The time of the last heartbeat.
    pub heartbeat_at: DateTime<Utc>,
    /// Whether the worker accepts no more jobs.
    pub draining: bool,
}

/// A worker to register.
pub struct NewWorker {
    /// The host and the process.
    pub name: String,
    /// The data directory.
    pub home: String,
    /// The maximum number of concurrent jobs.
    pub slots: i32,
    /// The programs that the worker has found.
    pub programs: Vec<String>,
    /// The skills that the worker can run.
    pub skills: Vec<String>,
    /// The model providers for which the worker has an API key.
    pub providers: Vec<String>,
    /// The isolation of the commands of jobs.
    pub isolation: Isolation,
    /// The mechanism that limits the memory of each command.
    pub memory_limit: MemoryLimit,
    /// Whether the worker renders previews of office documents.
    pub renders_previews: bool,
}

/// Registers a worker.
pub async fn insert(db: impl PgExecutor<'_>, new: &NewWorker) -> sqlx::Result<WorkerId> {
    let id = WorkerId::new();
    sqlx::query!(
        "insert into worker (id, name, home, version, slots, programs, skills, providers, isolation, memory_limit,
             renders_previews)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        id.0,
        new.name,
        new.home,
        env!("CARGO_PKG_VERSION"),
        new.slots,
        &new.programs,
        &new.skills,
        &new.providers,
        new.isolation.as_str(),
        new.memory_limit.as_str(),
        new.renders_previews,
    )
    .execute(db)
    .await?;
    Ok(id)
}

/// Renews the heartbeat of a worker. Returns `false` if the worker was marked as stopped.
pub async fn renew(db: impl PgExecutor<'_>, id: WorkerId) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update worker set heartbeat_at = now() where id = $1 and stopped_at is null",
        id.0
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Marks the worker as draining.
pub async fn drain(db: impl PgExecutor<'_>, id: WorkerId) -> sqlx::Result<()> {
    sqlx::query!("update worker set draining = true where id = $1", id.0)
        .execute(db)
        .await?;
    Ok(())
}

/// Adds programs that the worker has found.
pub async fn add_programs(
    db: impl PgExecutor<'_>,
    id: WorkerId,
    programs: &[String],
) -> sqlx::Result<()> {
    sqlx::query!(
        "update worker set programs = array(select distinct unnest(programs || $2) order by 1) where id = $1",
        id.0,
        programs,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Stores the versions of programs of the worker.
pub async fn add_versions(
    db: impl PgExecutor<'_>,
    id: WorkerId,
    versions: &BTreeMap<String, String>,
) -> sqlx::Result<()> {
    sqlx::query!(
        "update worker set program_versions = program_versions || $2 where id = $1",
        id.0,
        Json(versions) as _,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks a worker as stopped. The jobs that it still holds become orphans.
pub async fn stop(db: impl PgExecutor<'_>, id: WorkerId) -> sqlx::Result<()> {
    sqlx::query!(
        "update worker set stopped_at = now() where id = $1 and stopped_at is null",
        id.0
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Marks workers as stopped that have not sent a heartbeat for too long, by the database's clock. The time starts
/// again after a restart of the database, because heartbeats could not arrive before.
pub async fn stop_silent(db: impl PgExecutor<'_>, silence: Duration) -> sqlx::Result<u64> {
    let seconds = i32::try_from(silence.as_secs()).unwrap_or(i32::MAX);
    let done = sqlx::query!(
        "update worker set stopped_at = now()
         where stopped_at is null
           and greatest(heartbeat_at, pg_postmaster_start_time()) < now() - make_interval(secs => $1::int)",
        seconds,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Marks all workers of a data directory as stopped. The caller has exclusive access to the directory.
pub async fn stop_home(db: impl PgExecutor<'_>, home: &str) -> sqlx::Result<u64> {
    let done = sqlx::query!(
        "update worker set stopped_at = now() where stopped_at is null and home = $1",
        home
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Deletes workers that stopped more than an hour ago and hold no run.
pub async fn delete_stopped(db: impl PgExecutor<'_>) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from worker
         where stopped_at < now() - interval '1 hour'
           and not exists (select from run where run.worker_id = worker.id and run.state = 'running')",
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lists the live workers.
pub async fn list(db: impl PgExecutor<'_>) -> sqlx::Result<Vec<Worker>> {
    sqlx::query_as!(
        Worker,
        r#"select id, name, home, version, slots, programs, skills, providers, isolation, memory_limit, started_at, heartbeat_at, draining,
               program_versions as "program_versions: Json<BTreeMap<String, String>>",
               (select count(*) from run where run.worker_id = worker.id and run.state = 'running') as "running!"
           from worker
           where stopped_at is null
           order by id"#,
    )
    .fetch_all(db)
    .await
}

/// Whether there are live workers but none of them has an API key of the provider.
pub async fn lacks_provider(db: impl PgExecutor<'_>, provider: &str) -> sqlx::Result<bool> {
    let has = sqlx::query_scalar!(
        "select bool_or($1 = any(providers)) from worker where stopped_at is null",
        provider,
    )
    .fetch_one(db)
    .await?;
    Ok(has == Some(false))
}
