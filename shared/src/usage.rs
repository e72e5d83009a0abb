//! Usage statistics over time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::money::Usd;

/// The grouping of usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageGrouping {
    /// By day (UTC) on which the jobs ended.
    #[default]
    Day,
    /// By skill.
    Skill,
    /// By agent.
    Agent,
    /// By model.
    Model,
}

impl UsageGrouping {
    /// The name in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }
}

/// The usage of the finished jobs of one day, skill, agent or model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageGroup {
    /// The day (`2026-11-24`) or the name of the skill, agent or model. Null for jobs without a skill, agent or model.
    #[schema(required)]
    pub key: Option<String>,
    /// The number of completed jobs.
    pub completed: i64,
    /// The number of failed jobs.
    pub failed: i64,
    /// The number of cancelled jobs.
    pub cancelled: i64,
    /// Tokens read by the model, including cached ones.
    pub input_tokens: u64,
    /// Tokens written by the model, including thinking.
    pub output_tokens: u64,
    /// The cost. Tokens of models without a known price are not included.
    pub cost_usd: Usd,
    /// The total duration of the jobs from start to end, in milliseconds.
    pub duration_ms: i64,
}
