//! `/v1/queue`

use actix_web::get;
use actix_web::web::{Data, Json};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db;
use sqlx::PgPool;
use utoipa::ToSchema;

use crate::auth::Admin;
use crate::problem::{ApiError, Problem};

/// The queue of all tenants.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct Queue {
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
}

/// Returns what is queued and running.
#[utoipa::path(tag = "admin", responses(
    (status = 200, description = "The queue", body = Queue),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/queue")]
pub(crate) async fn get_queue(_: Admin, pool: Data<PgPool>) -> Result<Json<Queue>, ApiError> {
    let db::run::Depth {
        ready,
        scheduled,
        blocked,
        running,
        waiting,
        oldest,
    } = db::run::get_depth(&**pool).await?;
    Ok(Json(Queue {
        ready,
        scheduled,
        blocked,
        running,
        waiting,
        oldest,
    }))
}
