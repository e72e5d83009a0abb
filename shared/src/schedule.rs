//! Schedules and their runs.

mod timing;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

pub use timing::{DueTimes, Recurrence, RecurrenceError, ScheduleTiming};

use crate::id::JobId;
use crate::job::Status;

/// The policy for a run that is due while the job of an earlier run is unfinished.
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

/// The policy for scheduled times that were missed because no worker could start them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type,
)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum CatchUp {
    /// Times that are more than a minute late are skipped.
    None,
    /// The latest missed time runs, however late it is.
    #[default]
    One,
    /// The latest missed times run, at most `catch_up_limit`.
    All,
}

/// The reason for a run of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RunTrigger {
    /// The scheduled time was reached.
    Schedule,
    /// A client requested it.
    Manual,
}

/// The status of a run of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum RunStatus {
    /// The run starts soon, or waits for the job of an earlier run.
    Pending,
    /// The job of the run was created.
    Started,
    /// The run has no job. `reason` has the cause.
    Skipped,
    /// The job could not be created. `error` has the cause.
    Failed,
}

/// The reason why a run was skipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "text", rename_all = "snake_case")]
pub enum SkipReason {
    /// The run was too late according to `catch_up`.
    Missed,
    /// The job of an earlier run was unfinished.
    Overlap,
    /// 100 runs were already waiting.
    TooManyWaiting,
}

/// A run of a schedule.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ScheduleRun {
    /// The scheduled time. For a manual run, the time of the request.
    pub scheduled_for: DateTime<Utc>,
    /// The last scheduled time of this entry, if one entry stands for several missed times.
    #[schema(required)]
    pub missed_until: Option<DateTime<Utc>>,
    /// The reason for the run.
    pub trigger: RunTrigger,
    /// The time when the run can start: `scheduled_for` plus jitter.
    pub due_at: DateTime<Utc>,
    /// The status of the run.
    pub status: RunStatus,
    /// The reason why the run was skipped.
    #[schema(required)]
    pub reason: Option<SkipReason>,
    /// The reason why the job could not be created, as a problem object of `POST /v1/jobs`.
    #[schema(required, value_type = Option<Map<String, Value>>)]
    pub error: Option<Value>,
    /// The job of the run.
    #[schema(required)]
    pub job_id: Option<JobId>,
    /// The status of the job. Null if there is no job or if it was deleted.
    #[schema(required)]
    pub job_status: Option<Status>,
    /// The time of the last status change.
    pub updated_at: DateTime<Utc>,
}
