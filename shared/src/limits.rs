//! Limits of a job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::money::Usd;

/// The limits of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Limits {
    /// The maximum duration of the agent loop over all attempts, in seconds. The skill can set the default.
    #[schema(minimum = 1, maximum = 86400)]
    pub timeout_seconds: u32,
    /// The maximum number of model replies. The job then completes with what it has.
    #[schema(minimum = 1, maximum = 1000)]
    pub max_iterations: u32,
    /// The maximum number of tokens of one reply. If the model accepts fewer, its own maximum is used.
    #[schema(minimum = 1, maximum = 200_000)]
    pub max_tokens: u32,
    /// The time to answer an approval, in seconds. After it, the approval counts as denied.
    #[serde(default = "default_approval_timeout")]
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub approval_timeout_seconds: u32,
    /// The maximum number of tokens read and written for all replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1)]
    pub max_total_tokens: Option<u64>,
    /// The maximum cost of all replies.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_cost_usd: Option<Usd>,
}

/// The default for stored requests that are older than approvals.
fn default_approval_timeout() -> u32 {
    Limits::DEFAULT.approval_timeout_seconds
}

impl Limits {
    /// The default limits.
    pub const DEFAULT: Self = Self {
        timeout_seconds: 600,
        max_iterations: 40,
        max_tokens: 16_000,
        approval_timeout_seconds: 24 * 3600,
        max_total_tokens: None,
        max_cost_usd: None,
    };
}
