//! The stored request of a job.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{Origin, OutputSchema};
use crate::agent::AgentSnapshot;
use crate::hook::Hooks;
use crate::id::AssetId;
use crate::limits::Limits;
use crate::model_list::ModelList;
use crate::webhook::JobWebhook;

/// The request of a job, validated and with all defaults filled in. It is stored as JSON, so a new field needs a
/// default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRequest {
    /// The prompt of the job.
    pub prompt: String,
    /// The models, if the request names several. The model of the job is the one that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelList>,
    /// The input files.
    pub inputs: Vec<Input>,
    /// The skill's parameters.
    pub parameters: Map<String, Value>,
    /// Rules for tool calls, in addition to those of the skill or agent.
    #[serde(default)]
    pub hooks: Hooks,
    /// The limits of the job.
    pub limits: Limits,
    /// The schema of the structured result, if the job has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// The number of attempts that can end with an internal error before the job fails.
    pub max_attempts: i16,
    /// The priority within the tenant. Higher priorities run first.
    pub priority: Priority,
    /// The agent at the time when the job was accepted. `None` for a job of a skill.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSnapshot>,
    /// The job's own webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<JobWebhook>,
    /// The trace context of the job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
}

/// The skill or agent that a job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A skill, by name.
    Skill(String),
    /// An agent, by name.
    Agent(String),
}

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Input {
    /// An asset of the tenant.
    Asset {
        /// The asset.
        id: AssetId,
    },
    /// A file on the public web. It is fetched when the job starts.
    Url {
        /// The http or https URL.
        url: String,
        /// The file name in the workspace. The default is the last segment of the URL.
        name: Option<String>,
    },
}

impl Input {
    /// The asset of the input, if it is an asset.
    pub fn asset_id(&self) -> Option<AssetId> {
        match self {
            Self::Asset { id } => Some(*id),
            Self::Url { .. } => None,
        }
    }
}

/// The priority of a job. Each step equals one minute of waiting: a job of priority 1 runs before a job of priority 0
/// that was queued less than a minute earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub i16);

impl Priority {
    /// The permitted priorities.
    pub const RANGE: std::ops::RangeInclusive<i16> = -100..=100;

    /// The time that is added to the age of a job for its rank in the queue.
    pub fn head_start(self) -> chrono::TimeDelta {
        chrono::TimeDelta::minutes(self.0.into())
    }
}
