//! `/v1/queue`

mod history;

pub(crate) use history::get_queue_history;

use actix_web::web::{Data, Json};
use actix_web::{get, post};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use utoipa::ToSchema;

use crate::auth::{Admin, MetricsReader};
use crate::problem::{ApiError, Problem};

/// The queue of all tenants. Counts stop at 10,000, which means 10,000 or more.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Queue {
    /// Whether the queue is paused. No job starts while it is paused.
    paused: bool,
    /// Jobs that a free slot of a worker could start now.
    ready: i64,
    /// Jobs that may not start yet.
    scheduled: i64,
    /// Jobs that wait for an earlier job of their conversation.
    blocked: i64,
    /// Jobs that run on a worker.
    running: i64,
    /// Jobs that wait for the decision of a person.
    waiting: i64,
    /// Jobs that use or could use a slot now: `ready` plus `running`. Use it to scale the number of workers.
    demand: i64,
    /// When the longest waiting job became ready to start; null if no job waits.
    oldest: Option<DateTime<Utc>>,
    /// Paused skills. Their jobs do not start.
    paused_skills: Vec<String>,
    /// Tenants that have reached their `max_running` while more of their jobs wait, or have waited.
    at_capacity: i64,
}

/// Returns the state of the queue.
///
/// Requires a key with the scope `metrics` or `admin`.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/queue")]
pub(crate) async fn get_queue(_: MetricsReader, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    find(&pool).await.map(Json)
}

/// Pauses the queue.
///
/// No jobs start until the queue is resumed. Running jobs continue. New jobs are accepted and wait.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/queue/pause")]
pub(crate) async fn pause_queue(_: Admin, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    db::queue::set_paused(&**pool, true).await?;
    find(&pool).await.map(Json)
}

/// Resumes the queue.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/queue/resume")]
pub(crate) async fn resume_queue(_: Admin, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    db::queue::set_paused(&**pool, false).await?;
    find(&pool).await.map(Json)
}

/// Returns the current state of the queue.
pub(crate) async fn find(pool: &Pool) -> Result<Queue, ApiError> {
    let db::queue::Depth {
        paused,
        ready,
        scheduled,
        blocked,
        running,
        waiting,
        oldest,
        paused_skills,
        at_capacity,
        now: _,
    } = db::queue::get_depth(pool).await?;
    Ok(Queue {
        paused,
        ready,
        scheduled,
        blocked,
        running,
        waiting,
        demand: ready + running,
        oldest,
        paused_skills,
        at_capacity,
    })
}
