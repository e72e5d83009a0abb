//! Limits of a job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::money::Usd;

/// The limits of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// Seconds for the whole loop, over all attempts. The skill says the default.
    #[schema(minimum = 1, maximum = 86400)]
    pub timeout_seconds: u32,
    /// Replies of the model before the loop ends with what it has.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_iterations: u32,
    /// Tokens of one reply. A model that accepts fewer gets as many as it accepts.
    #[schema(minimum = 1, maximum = 200_000)]
    pub max_tokens: u32,
    /// Seconds that a call waits for a person before it counts as denied.
    #[serde(default = "default_approval_timeout")]
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub approval_timeout_seconds: u32,
    /// Tokens of all replies, with what the model read for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_total_tokens: Option<u64>,
    /// The most that all replies may cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
}

/// Of requests from before there were approvals.
fn default_approval_timeout() -> u32 {
    Limits::DEFAULT.approval_timeout_seconds
}

impl Limits {
    /// The defaults.
    pub const DEFAULT: Self = Self {
        timeout_seconds: 600,
        max_iterations: 40,
        max_tokens: 16_000,
        approval_timeout_seconds: 24 * 3600,
        max_total_tokens: None,
        max_cost_usd: None,
    };
}
