//! Usage over time.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::money::Usd;

/// What usage is added up by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum UsageGrouping {
    /// The day (UTC) on which jobs ended.
    #[default]
    Day,
    /// The skill of jobs.
    Skill,
    /// The agent of jobs.
    Agent,
    /// The model of jobs.
    Model,
}

impl UsageGrouping {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Skill => "skill",
            Self::Agent => "agent",
            Self::Model => "model",
        }
    }
}

/// The usage of the ended jobs of one day, skill, agent or model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UsageGroup {
    /// The day (`2026-11-24`), or the name of the skill, agent or model; null for jobs that have none.
    #[schema(required)]
    pub key: Option<String>,
    /// Jobs that completed.
    pub completed: i64,
    /// Jobs that failed.
    pub failed: i64,
    /// Jobs that were cancelled.
    pub cancelled: i64,
    /// Tokens read by the model, cached ones included.
    pub input_tokens: u64,
    /// Tokens written by the model, thinking included.
    pub output_tokens: u64,
    /// The cost, as far as the price of the model was known.
    pub cost_usd: Usd,
    /// From the start of each job to its end, added up, in milliseconds.
    pub duration_ms: i64,
}
