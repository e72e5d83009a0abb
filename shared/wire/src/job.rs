//! Jobs, as the API returns them.

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

/// A job.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Job {
    /// The identifier of the job.
    pub id: JobId,
    /// The status of the job.
    pub status: Status,
    /// The title that the client gave the job, or the first line of its prompt.
    #[serde(default)]
    pub title: String,
    /// The beginning of the prompt, at most 200 characters. `GET /v1/jobs/{job_id}/request` returns the complete
    /// prompt.
    #[serde(default)]
    pub prompt_preview: String,
    /// The client's own reference. Null if the client gave none.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub external_id: Option<String>,
    /// The skill that the job runs. Null for a job of an agent.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill: Option<String>,
    /// The version of the skill. Null unless the tenant uploaded the skill.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill_version: Option<i32>,
    /// The SHA-256 of the skill, in hexadecimal: as it was when the job was accepted and, after the job has ended, as
    /// it ran. Null for a job of an agent.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill_digest: Option<String>,
    /// The agent that the job runs. Null for a job of a skill.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub agent: Option<String>,
    /// The version of the agent. Null for a job of a skill.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub agent_version: Option<i32>,
    /// The conversation that the job continues. Null if there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub conversation_id: Option<ConversationId>,
    /// The model. If the job has fallback models, this is the model that answered last.
    pub model: ModelName,
    /// The number of attempts that have started.
    pub attempt: i32,
    /// The job that this job retries. Null if this job is not a retry.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub retry_of: Option<JobId>,
    /// The schedule that created the job. Null if no schedule created it.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub schedule_id: Option<ScheduleId>,
    /// When the job was accepted.
    pub created_at: DateTime<Utc>,
    /// When the first attempt started. Null before.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub started_at: Option<DateTime<Utc>>,
    /// When the job ended. Null before.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub finished_at: Option<DateTime<Utc>>,
    /// The time in the queue, in milliseconds: from the acceptance of the job to the start of the first attempt, or
    /// to the end of the job if no attempt started. Null before.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub queued_ms: Option<i64>,
    /// The duration in milliseconds, from the start of the first attempt to the end of the job. Null before the end,
    /// and for a job that never started.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(required))]
    pub duration_ms: Option<i64>,
    /// The result. Empty until the job has ended.
    #[serde(flatten)]
    pub result: JobResult,
    /// Data that the client attached to the job.
    pub metadata: Map<String, Value>,
    /// The reason why the job is not running yet. Only present on a queued job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePlace>,
}

/// The result of a job. Empty until the job has ended.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct JobResult {
    /// The final text of the assistant. Null if there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub text: Option<String>,
    /// The structured result, which matches the job's `output_schema`. Only present on a completed job that has one.
    #[serde(
        default,
        deserialize_with = "present",
        skip_serializing_if = "Option::is_none"
    )]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Value>, nullable = false))]
    pub result: Option<Value>,
    /// The files that the job made. Each one can be downloaded.
    pub outputs: Vec<Output>,
    /// The reason why the agent loop stopped. Null unless the job completed.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub stop_reason: Option<LoopStop>,
    /// The reason why the job failed. Null unless the job failed.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub error: Option<JobError>,
    /// The usage of the job.
    pub usage: Usage,
    /// Problems that did not make the job fail.
    pub warnings: Vec<String>,
}

/// Reads a field that is present, so that `null` is one of its values.
fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(deserializer).map(Some)
}

/// A file that a job made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Output {
    /// The kind of the file.
    pub kind: OutputKind,
    /// The stored file.
    pub asset: Asset,
}

/// The reason why the agent loop of a job stopped without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum LoopStop {
    /// The model finished its answer.
    EndTurn,
    /// The last reply reached its token limit.
    MaxTokens,
    /// The context window of the model is full.
    ContextFull,
    /// The model refused to continue.
    Refusal,
    /// The job reached `limits.max_iterations`.
    MaxIterations,
    /// The model repeated the same tool call.
    RepeatedCall,
    /// Another reply could have exceeded `limits.max_total_tokens`.
    MaxTotalTokens,
    /// Another reply could have exceeded `limits.max_cost_usd`.
    MaxCostUsd,
    /// Another reply could have exceeded the tenant's monthly budget.
    TenantBudget,
}

impl LoopStop {
    /// Returns the name used in the API.
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
    /// Other jobs start first.
    Position {
        /// The estimated number of jobs that start before this job; 1000 means 1000 or more.
        position: i64,
    },
    /// The job may not start yet, because of its `run_at` or the pause before another attempt.
    Scheduled {
        /// The earliest start.
        run_at: DateTime<Utc>,
    },
    /// An earlier job of the conversation has not ended.
    EarlierJob {
        /// The previous job of the conversation.
        job_id: JobId,
    },
    /// An administrator has paused the queue.
    QueuePaused,
    /// An administrator has paused the skill.
    SkillPaused {
        /// The name of the skill.
        skill: String,
    },
    /// No worker accepts jobs.
    NoWorker,
    /// No worker has all the programs that the job needs.
    MissingPrograms {
        /// The programs missing on the worker that lacks the fewest; `|` separates alternatives.
        programs: Vec<String>,
    },
    /// The job needs network access, and no worker that has the programs gives it to commands.
    NoNetwork,
    /// The tenant runs as many jobs as its `max_running` allows.
    TenantCap {
        /// The `max_running` of the tenant.
        max_running: i32,
    },
}
