//! Limits of a job, as a request gives them.

use serde::{Deserialize, Serialize};
use shared::agent::AgentLimits;
use shared::limits::Limits;
use shared::money::Usd;
use shared::whole_number::WholeNumber;
use utoipa::ToSchema;

use crate::number;
use crate::problem::FieldError;

/// The limits of a job. A limit that is not given is that of the skill or the agent, or else that of the service.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsRequest {
    /// The maximum duration of the agent loop over all attempts, in seconds. The skill or the agent sets the default;
    /// otherwise it is 600.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 86400)]
    timeout_seconds: Option<WholeNumber>,
    /// The maximum number of model replies. After them, the job completes with its results so far. The skill or the
    /// agent sets the default; otherwise it is 40.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1000)]
    max_iterations: Option<WholeNumber>,
    /// The maximum number of tokens of one reply. The skill or the agent sets the default; otherwise it is 16,000. If
    /// the model accepts fewer, its own maximum applies.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 200_000)]
    max_tokens: Option<WholeNumber>,
    /// The time to decide on an approval, in seconds. After it, the approval counts as denied. The default is 86,400.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 2_592_000)]
    approval_timeout_seconds: Option<WholeNumber>,
    /// The maximum number of tokens read and written for all replies. No reply is started that could exceed it.
    // Omitted if not given, so that requests without new fields keep their digest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 1_000_000_000_000_u64)]
    max_total_tokens: Option<WholeNumber>,
    /// The maximum cost of all replies, in US dollars. No reply is started that could exceed it. The price of the
    /// model must be configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0, maximum = 1_000_000)]
    max_cost_usd: Option<f64>,
}

/// The maximum value of a token limit.
pub(crate) const MAX_TOKENS: u64 = 1_000_000_000_000;

impl LimitsRequest {
    /// Returns the limits that are given, and adds an error for each one that is out of range.
    pub(crate) fn parse(&self, errors: &mut Vec<FieldError>) -> AgentLimits {
        let mut check = |given, highest, name: &str| {
            number::check(given, 1..=highest, &format!("/limits/{name}"), errors)
        };
        let timeout_seconds = check(self.timeout_seconds, 86_400, "timeout_seconds");
        let max_iterations = check(self.max_iterations, 1000, "max_iterations");
        let max_tokens = check(self.max_tokens, 200_000, "max_tokens");
        let approval_timeout_seconds = check(
            self.approval_timeout_seconds,
            2_592_000,
            "approval_timeout_seconds",
        );
        AgentLimits {
            timeout_seconds,
            max_iterations,
            max_tokens,
            approval_timeout_seconds,
            max_total_tokens: number::check(
                self.max_total_tokens,
                1..=MAX_TOKENS,
                "/limits/max_total_tokens",
                errors,
            ),
            max_cost_usd: self.max_cost(errors),
        }
    }

    fn max_cost(&self, errors: &mut Vec<FieldError>) -> Option<Usd> {
        let cost = Usd::from_f64(self.max_cost_usd?);
        let cost = cost.filter(|cost| (Usd::from_nanos(1)..=Usd::MILLION).contains(cost));
        if cost.is_none() {
            errors.push(FieldError::new(
                "/limits/max_cost_usd",
                "must be more than 0 and at most 1000000",
            ));
        }
        cost
    }

    /// Returns the limits, with defaults for those that are not given.
    pub(super) fn parse_with(&self, defaults: Limits, errors: &mut Vec<FieldError>) -> Limits {
        let given = self.parse(errors);
        Limits {
            timeout_seconds: given.timeout_seconds.unwrap_or(defaults.timeout_seconds),
            max_iterations: given.max_iterations.unwrap_or(defaults.max_iterations),
            max_tokens: given.max_tokens.unwrap_or(defaults.max_tokens),
            approval_timeout_seconds: given
                .approval_timeout_seconds
                .unwrap_or(defaults.approval_timeout_seconds),
            max_total_tokens: given.max_total_tokens.or(defaults.max_total_tokens),
            max_cost_usd: given.max_cost_usd.or(defaults.max_cost_usd),
        }
    }
}
