//! What a job may use up.

use serde::{Deserialize, Serialize};
use shared::job::Limits;
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
}

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
        }
    }
}
