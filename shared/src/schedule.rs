//! Schedules: when jobs are created, and what became of each time.

mod timing;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use timing::{DueTimes, Recurrence, RecurrenceError, ScheduleTiming};

use crate::id::JobId;
use crate::job::Status;

/// What happens when a run is due while the job of an earlier run has not ended.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum Overlap {
    /// The run is skipped.
    #[default]
    Skip,
    /// The run waits until the job has ended. At most 100 runs wait.
    Queue,
    /// The job is cancelled, and the run starts at once.
    CancelRunning,
}

/// What happens with times that passed while no worker could start them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum CatchUp {
    /// A time that is more than a minute late is skipped.
    None,
    /// The latest time is run, however late it is.
    #[default]
    One,
    /// The latest times are run, at most `catch_up_limit`.
    All,
}

/// Why a schedule created a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunTrigger {
    /// It was time.
    Schedule,
    /// A client requested it.
    Manual,
}

/// The state of a run of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum RunStatus {
    /// It starts soon, or waits for the job of an earlier run.
    Pending,
    /// Its job was created.
    Started,
    /// It has no job; `reason` says why.
    Skipped,
    /// Its job could not be created; `error` says why.
    Failed,
}

/// Why a run was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SkipReason {
    /// It was too late for it, by `catch_up`.
    Missed,
    /// The job of an earlier run had not ended.
    Overlap,
    /// 100 runs were waiting already.
    TooManyWaiting,
}

/// A run of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ScheduleRun {
    /// The time by the schedule; of a manual run, the time of the request.
    pub scheduled_for: DateTime<Utc>,
    /// The last of the times that this entry stands for, if several were missed together.
    #[schema(required)]
    pub missed_until: Option<DateTime<Utc>>,
    /// Why the schedule runs.
    pub trigger: RunTrigger,
    /// When it may start: `scheduled_for` with the jitter.
    pub due_at: DateTime<Utc>,
    /// The state.
    pub status: RunStatus,
    /// Why it was skipped.
    #[schema(required)]
    pub reason: Option<SkipReason>,
    /// Why its job could not be created: a problem as `POST /v1/jobs` answers it.
    #[schema(required, value_type = Option<Map<String, Value>>)]
    pub error: Option<Value>,
    /// The job.
    #[schema(required)]
    pub job_id: Option<JobId>,
    /// The status of the job; null if there is none any more.
    #[schema(required)]
    pub job_status: Option<Status>,
    /// When the state changed last.
    pub updated_at: DateTime<Utc>,
}
