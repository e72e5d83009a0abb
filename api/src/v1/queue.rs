//! `/v1/queue`

mod history;

pub(crate) use history::get_queue_history;

use actix_web::web::{Data, Json};
use actix_web::{get, post};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::problem::{ApiError, Problem};

/// The queue of all tenants. Counts stop at 10,000, which means 10,000 or more.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Queue {
    /// Whether the queue is paused: no job starts.
    paused: bool,
    /// Jobs that a free slot could take.
    ready: i64,
    /// Jobs that may not start yet.
    scheduled: i64,
    /// Jobs behind another of their conversation.
    blocked: i64,
    /// Jobs with a worker.
    running: i64,
    /// Jobs that wait for a person.
    waiting: i64,
    /// Since when the job that waits longest could have started; null if none waits.
    oldest: Option<DateTime<Utc>>,
    /// Paused skills: none of their jobs starts.
    paused_skills: Vec<String>,
    /// Tenants that run as many jobs as they may, while more of their jobs wait or have waited.
    at_capacity: i64,
}

/// Returns what is queued and running.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/queue")]
pub(crate) async fn get_queue(_: Admin, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    find(&pool).await.map(Json)
}

/// Stops starting jobs. Running jobs continue. New jobs are accepted and wait.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/queue/pause")]
pub(crate) async fn pause_queue(_: Admin, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    db::queue::set_paused(&**pool, true).await?;
    find(&pool).await.map(Json)
}

/// Starts jobs again.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[post("/queue/resume")]
pub(crate) async fn resume_queue(_: Admin, pool: Data<Pool>) -> Result<Json<Queue>, ApiError> {
    db::queue::set_paused(&**pool, false).await?;
    find(&pool).await.map(Json)
}

/// The queue as it stands.
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
        oldest,
        paused_skills,
        at_capacity,
    })
}
