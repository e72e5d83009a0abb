//! What a job may use up.

use serde::{Deserialize, Serialize};
use shared::job::Limits;
use shared::money::Usd;
use utoipa::ToSchema;

use crate::problem::FieldError;

/// What a job may use up. What is not given is the default of the skill, the agent or the service.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsRequest {
    /// Seconds for the whole loop, over all attempts.
    #[schema(minimum = 1, maximum = 86400)]
    pub(crate) timeout_seconds: Option<u32>,
    /// Replies of the model before the loop ends with what it has; 10 if nobody says otherwise.
    #[schema(minimum = 1, maximum = 1000)]
    pub(crate) max_iterations: Option<u32>,
    /// Tokens of one reply; 4096 if nobody says otherwise.
    #[schema(minimum = 1, maximum = 200_000)]
    pub(crate) max_tokens: Option<u32>,
    /// Seconds that a call waits for a person before it counts as denied; 86,400 if nobody says otherwise.
    #[schema(minimum = 1, maximum = 2_592_000)]
    pub(crate) approval_timeout_seconds: Option<u32>,
    /// Tokens of all replies, with what the model read for them. No reply is begun that could go beyond it.
    // What is new is left out if it is not given: a request of before has the digest that it had.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000_000_000_000_u64)]
    pub(crate) max_total_tokens: Option<u64>,
    /// What all replies may cost, in US dollars. No reply is begun that could go beyond it. The price of the model
    /// must be configured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(exclusive_minimum = 0, maximum = 1_000_000)]
    pub(crate) max_cost_usd: Option<f64>,
}

/// The most tokens that a limit may be.
pub(crate) const MOST_TOKENS: u64 = 1_000_000_000_000;

impl LimitsRequest {
    /// Notes what is out of range.
    pub(crate) fn check_ranges(&self, errors: &mut Vec<FieldError>) {
        let mut check = |field: &str, asked: Option<u32>, highest: u32| {
            if asked.is_some_and(|value| !(1..=highest).contains(&value)) {
                errors.push(FieldError::new(
                    format!("/limits/{field}"),
                    format!("must be from 1 to {highest}"),
                ));
            }
        };
        check("timeout_seconds", self.timeout_seconds, 86_400);
        check("max_iterations", self.max_iterations, 1000);
        check("max_tokens", self.max_tokens, 200_000);
        check(
            "approval_timeout_seconds",
            self.approval_timeout_seconds,
            2_592_000,
        );
        let is_out = |tokens| !(1..=MOST_TOKENS).contains(&tokens);
        if self.max_total_tokens.is_some_and(is_out) {
            errors.push(FieldError::new(
                "/limits/max_total_tokens",
                format!("must be from 1 to {MOST_TOKENS}"),
            ));
        }
        if self.max_cost_usd.is_some() && self.max_cost().is_none() {
            errors.push(FieldError::new(
                "/limits/max_cost_usd",
                "must be more than 0 and at most 1000000",
            ));
        }
    }

    /// The limit of money, if it is one.
    pub(crate) fn max_cost(&self) -> Option<Usd> {
        let cost = self.max_cost_usd.and_then(Usd::from_f64);
        cost.filter(|cost| (Usd::from_nanos(1)..=Usd::MILLION).contains(cost))
    }

    /// Fills in the defaults and notes what is out of range.
    pub(super) fn check(&self, defaults: Limits, errors: &mut Vec<FieldError>) -> Limits {
        self.check_ranges(errors);
        Limits {
            timeout_seconds: self.timeout_seconds.unwrap_or(defaults.timeout_seconds),
            max_iterations: self.max_iterations.unwrap_or(defaults.max_iterations),
            max_tokens: self.max_tokens.unwrap_or(defaults.max_tokens),
            approval_timeout_seconds: self
                .approval_timeout_seconds
                .unwrap_or(defaults.approval_timeout_seconds),
            max_total_tokens: self.max_total_tokens.or(defaults.max_total_tokens),
            max_cost_usd: self.max_cost().or(defaults.max_cost_usd),
        }
    }
}
