//! `/v1/queue/history`

use actix_web::get;
use actix_web::web::{Data, Json};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::queue_history::{KEPT_MINUTES, QueuePeriod};
use shared::db::{self, Pool};
use utoipa::{IntoParams, ToSchema};

use crate::auth::Admin;
use crate::problem::{ApiError, Problem};
use crate::query::Query;

/// The maximum number of periods in a response. A plot has no pixels for more.
const MAX_PERIODS: i32 = 720;
const DEFAULT_MINUTES: i32 = 180;

/// Query parameters for the history of the queue.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GetQueueHistory {
    /// The number of minutes to return, up to now: 1 to 43200 (30 days); 180 by default.
    #[param(minimum = 1, maximum = 43_200)]
    minutes: Option<i32>,
}

/// The history of the queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistory {
    /// The length of a period in minutes. It is 1, or more if there would be more than 720 periods.
    step_minutes: i32,
    /// The periods, in order. A period in which no job ended and no worker was running is omitted.
    data: Vec<QueueHistoryEntry>,
    /// Always null: all periods are on one page.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// The queue in one period. Counts of jobs are measured once a minute, and the largest value of the period is
/// returned. They are null if no worker measured them. 10,000 means 10,000 or more.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistoryEntry {
    /// The start of the period.
    at: DateTime<Utc>,
    /// Jobs that a free slot of a worker could have started.
    #[schema(required)]
    ready: Option<i32>,
    /// Jobs that could not start yet.
    #[schema(required)]
    scheduled: Option<i32>,
    /// Jobs that waited for an earlier job of their conversation.
    #[schema(required)]
    blocked: Option<i32>,
    /// Jobs that ran on a worker.
    #[schema(required)]
    running: Option<i32>,
    /// Jobs that waited for the decision of a person.
    #[schema(required)]
    waiting: Option<i32>,
    /// The number of seconds since the longest waiting job became ready to start; null if no job waited.
    #[schema(required)]
    oldest_seconds: Option<i32>,
    /// Jobs that completed in the period.
    completed: i64,
    /// Jobs that failed in the period.
    failed: i64,
    /// Jobs that were cancelled in the period.
    cancelled: i64,
}

/// Returns the length of the queue and the numbers of ended jobs over time.
#[utoipa::path(tag = "admin", params(GetQueueHistory), responses(
    (status = 200, description = "The history", body = QueueHistory),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/queue/history")]
pub(crate) async fn get_queue_history(
    _: Admin,
    pool: Data<Pool>,
    query: Query<GetQueueHistory>,
) -> Result<Json<QueueHistory>, ApiError> {
    let minutes = query.minutes.unwrap_or(DEFAULT_MINUTES);
    if !(1..=KEPT_MINUTES).contains(&minutes) {
        return Err(ApiError::Malformed(format!(
            "`minutes` must be from 1 to {KEPT_MINUTES}"
        )));
    }
    let step_minutes = (minutes + MAX_PERIODS - 1) / MAX_PERIODS;
    let periods = db::queue_history::list(&**pool, minutes, step_minutes).await?;
    Ok(Json(QueueHistory {
        step_minutes,
        data: periods.into_iter().map(QueueHistoryEntry::from).collect(),
        next_cursor: None,
    }))
}

impl From<QueuePeriod> for QueueHistoryEntry {
    fn from(period: QueuePeriod) -> Self {
        let QueuePeriod {
            at,
            ready,
            scheduled,
            blocked,
            running,
            waiting,
            oldest_seconds,
            completed,
            failed,
            cancelled,
        } = period;
        Self {
            at,
            ready,
            scheduled,
            blocked,
            running,
            waiting,
            oldest_seconds,
            completed,
            failed,
            cancelled,
        }
    }
}
