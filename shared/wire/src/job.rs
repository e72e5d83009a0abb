//! Jobs as clients see them.

mod error;
mod status;
mod usage;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

pub use error::{JobError, JobErrorCode};
pub use status::Status;
pub use usage::{Presumed, Reservation, Usage};

use crate::asset::{Asset, OutputKind};
use crate::id::{ConversationId, JobId, ScheduleId};
use crate::model_name::ModelName;

/// A job as its owner sees it.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// The job's identifier.
    pub id: JobId,
    /// The status.
    pub status: Status,
    /// The title that the client gave it, or the first line of its prompt.
    #[serde(default)]
    pub title: String,
    /// The beginning of its prompt, at most 200 characters. `GET /v1/jobs/{job_id}/request` returns all of it.
    #[serde(default)]
    pub prompt_preview: String,
    /// The client's own reference.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub external_id: Option<String>,
    /// The skill it runs; null for an agent's job.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill: Option<String>,
    /// The version of the skill; null unless the tenant uploaded it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill_version: Option<i32>,
    /// SHA-256 of the skill: as it was when the job was accepted, and as it ran once the job has ended. Null for an
    /// agent's job.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill_digest: Option<String>,
    /// The agent it runs; null for a skill's job.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub agent: Option<String>,
    /// The version of the agent; null for a skill's job.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub agent_version: Option<i32>,
    /// The conversation that it continues.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub conversation_id: Option<ConversationId>,
    /// The model that does the thinking.
    pub model: ModelName,
    /// The number of attempts that have started.
    pub attempt: i32,
    /// The job that this job retries.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub retry_of: Option<JobId>,
    /// The schedule that created it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub schedule_id: Option<ScheduleId>,
    /// When it was accepted.
    pub created_at: DateTime<Utc>,
    /// When the first attempt began.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub started_at: Option<DateTime<Utc>>,
    /// When it ended.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub finished_at: Option<DateTime<Utc>>,
    /// Milliseconds from its acceptance to the first attempt, or to its end if there was none. Null before.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub queued_ms: Option<i64>,
    /// Milliseconds from the first attempt to its end. Null before, and for a job that never began.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub duration_ms: Option<i64>,
    /// The result; empty until the job has ended.
    #[serde(flatten)]
    pub result: JobResult,
    /// Data that the client attached to the job.
    pub metadata: Map<String, Value>,
    /// Why it is not running yet. Only on a queued job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
}

/// The result of a job. Empty until it ends.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobResult {
    /// The final text of the assistant.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub text: Option<String>,
    /// The structured result, which matches the job's `output_schema`. Only on a completed job that has one.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>, nullable = false))]
    pub result: Option<Value>,
    /// The files that it made, each ready to be downloaded.
    pub outputs: Vec<Output>,
    /// Why the loop stopped.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub stop_reason: Option<LoopStop>,
    /// Why it failed.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<JobError>,
    /// The usage.
    pub usage: Usage,
    /// Problems that did not make the job fail.
    pub warnings: Vec<String>,
}

/// Reads a field that is there, so that `null` is a value of it.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A file that a job made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Output {
    /// Its kind.
    pub kind: OutputKind,
    /// The file.
    pub asset: Asset,
}

/// Why a job's loop stopped without failing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopStop {
    /// The model had said everything.
    EndTurn,
    /// The last reply reached its cap.
    MaxTokens,
    /// What the model read and wrote fills the whole of its context.
    ContextFull,
    /// The model declined.
    Refusal,
    /// `limits.max_iterations` was reached.
    MaxIterations,
    /// The model made the same call again and again.
    RepeatedCall,
    /// Another reply could have gone beyond `limits.max_total_tokens`.
    MaxTotalTokens,
    /// Another reply could have gone beyond `limits.max_cost_usd`.
    MaxCostUsd,
    /// Another reply could have gone beyond what the tenant may use up this month.
    TenantBudget,
}

impl LoopStop {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EndTurn => "end_turn",
            Self::MaxTokens => "max_tokens",
            Self::ContextFull => "context_full",
            Self::Refusal => "refusal",
            Self::MaxIterations => "max_iterations",
            Self::RepeatedCall => "repeated_call",
            Self::MaxTotalTokens => "max_total_tokens",
            Self::MaxCostUsd => "max_cost_usd",
            Self::TenantBudget => "tenant_budget",
        }
    }
}

/// The reason why a queued job is not running.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum QueuePlace {
    /// Others go first.
    Position {
        /// The estimated number of jobs that will begin before it; 1000 means 1000 or more.
        position: i64,
    },
    /// It may not start before an instant: `run_at`, or the pause before another attempt.
    Scheduled {
        /// The earliest start.
        run_at: DateTime<Utc>,
    },
    /// An earlier job of its conversation has not ended.
    EarlierJob {
        /// The job right before it.
        job_id: JobId,
    },
    /// Whoever runs the service has paused the queue.
    QueuePaused,
    /// Whoever runs the service has paused the skill.
    SkillPaused {
        /// The skill.
        skill: String,
    },
    /// No worker is there.
    NoWorker,
    /// Workers are there, and none has all the programs that the job needs.
    MissingPrograms {
        /// The programs missing on the worker that lacks the fewest; `|` separates alternatives.
        programs: Vec<String>,
    },
    /// Workers are there, and none of those that have the programs gives commands a network, which the job needs.
    NoNetwork,
    /// As many jobs of its tenant run as may.
    TenantCap {
        /// The cap.
        max_running: i32,
    },
}
