//! The feed: the milestones of all jobs of a tenant.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::id::{ConversationId, JobId};
use crate::job::Status;

/// A milestone of a job. `GET /v1/jobs/{job_id}/events?after=SEQ-1&limit=1` returns the complete event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FeedEvent {
    /// The identifier of the job.
    pub job_id: JobId,
    /// The `seq` of the event in the job's log.
    pub seq: i64,
    /// The type: one of `job.queued`, `job.started`, `job.waiting`, `approval.requested`, `approval.resolved`,
    /// `asset.created`, `job.retrying`, `job.completed`, `job.failed` and `job.cancelled`.
    #[serde(rename = "type")]
    #[cfg_attr(feature = "openapi", schema(example = "job.completed"))]
    pub kind: String,
    /// When the event was committed, by the database's clock.
    pub at: DateTime<Utc>,
    /// The status of the job when the event was committed.
    pub status: Status,
    /// The skill that the job runs. Null for a job of an agent.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub skill: Option<String>,
    /// The agent that the job runs. Null for a job of a skill.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub agent: Option<String>,
    /// The conversation that the job continues. Null if there is none.
    #[cfg_attr(feature = "openapi", schema(required))]
    pub conversation_id: Option<ConversationId>,
    /// The metadata of the job.
    pub metadata: Map<String, Value>,
}
