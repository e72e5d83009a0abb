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

/// What a job was asked to do, checked and with every default filled in. Stored as JSON, so a field
/// that is added later needs a default.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JobRequest {
    /// The prompt of the job.
    pub prompt: String,
    /// The models, if there are several; the job's own model is the one that answered last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub models: Option<ModelList>,
    /// The files to start from.
    pub inputs: Vec<Input>,
    /// The skill's parameters.
    pub parameters: Map<String, Value>,
    /// Rules for calls of tools, beside those of the skill or agent.
    #[serde(default)]
    pub hooks: Hooks,
    /// The limits of the job.
    pub limits: Limits,
    /// The schema of its structured result; none if it needs none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output_schema: Option<OutputSchema>,
    /// How many attempts may end with an internal error before the job fails.
    pub max_attempts: i16,
    /// Higher goes first within a tenant.
    pub priority: Priority,
    /// The agent as it was when the job was accepted; none for a skill's job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentSnapshot>,
    /// The job's own webhook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<JobWebhook>,
    /// The trace that the job belongs to.
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

/// A file to start from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "from", rename_all = "snake_case")]
pub enum Input {
    /// An asset of the tenant.
    Asset {
        /// Which.
        id: AssetId,
    },
    /// Something on the public web, fetched when the job starts.
    Url {
        /// Where; http or https.
        url: String,
        /// The file name in the workspace, instead of the last segment of the URL.
        name: Option<String>,
    },
}

impl Input {
    /// The asset that it is, if it is one.
    pub fn asset_id(&self) -> Option<AssetId> {
        match self {
            Self::Asset { id } => Some(*id),
            Self::Url { .. } => None,
        }
    }
}

/// A step is worth a minute of waiting: a job of priority 1 goes before one of priority 0 that was
/// queued less than a minute earlier.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Priority(pub i16);

impl Priority {
    /// The lowest and the highest.
    pub const RANGE: std::ops::RangeInclusive<i16> = -100..=100;

    /// How much earlier than its age a job of this priority is ranked.
    pub fn head_start(self) -> chrono::TimeDelta {
        chrono::TimeDelta::minutes(self.0.into())
    }
}
