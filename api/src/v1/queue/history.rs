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

/// Periods of one answer: more than a plot has pixels for is of no use.
const MAX_PERIODS: i32 = 720;
const DEFAULT_MINUTES: i32 = 180;

/// How far to look back.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GetQueueHistory {
    /// The last minutes to return, 1 to 43200 (30 days); 180 if not given.
    #[param(minimum = 1, maximum = 43_200)]
    minutes: Option<i32>,
}

/// The history of the queue.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistory {
    /// The length of each period in minutes: 1, or more if there would be more than 720 of them.
    step_minutes: i32,
    /// The periods in their order. One in which no job ended and no worker was there is left out.
    data: Vec<QueueHistoryEntry>,
    /// Always null: all periods are on one page.
    #[schema(required)]
    next_cursor: Option<String>,
}

/// The queue in one period. The counts of jobs are the largest of its minutes, each counted at one moment; they are
/// null if no worker counted, and 10,000 means 10,000 or more.
#[derive(Serialize, ToSchema)]
pub(crate) struct QueueHistoryEntry {
    /// When the period began.
    at: DateTime<Utc>,
    /// Jobs that a free slot could have taken.
    #[schema(required)]
    ready: Option<i32>,
    /// Jobs that were not to start yet.
    #[schema(required)]
    scheduled: Option<i32>,
    /// Jobs behind another of their conversation.
    #[schema(required)]
    blocked: Option<i32>,
    /// Jobs with a worker.
    #[schema(required)]
    running: Option<i32>,
    /// Jobs that waited for a person.
    #[schema(required)]
    waiting: Option<i32>,
    /// For how many seconds the job that waited longest could have started; null if none waited.
    #[schema(required)]
    oldest_seconds: Option<i32>,
    /// Jobs that completed in the period.
    completed: i64,
    /// Jobs that failed in the period.
    failed: i64,
    /// Jobs that were cancelled in the period.
    cancelled: i64,
}

/// Returns the depth of the queue and the ends of jobs over time, for plots.
#[utoipa::path(tag = "admin", params(GetQueueHistory), responses(
    (status = 200, description = "The history", body = QueueHistory),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
