//! What a job may use up.

use serde::{Deserialize, Serialize};
use shared::job::Limits;
use shared::skill::Skill;
use utoipa::ToSchema;

use crate::problem::FieldError;

/// What a job may use up. What is not given is the skill's or the service's default.
#[derive(Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitsRequest {
    /// Seconds for the whole loop, over all attempts.
    #[schema(minimum = 1, maximum = 86400)]
    timeout_seconds: Option<u32>,
    /// Replies of the model before the loop ends with what it has; 10 if not given.
    #[schema(minimum = 1, maximum = 1000)]
    max_iterations: Option<u32>,
    /// Tokens of one reply; 4096 if not given.
    #[schema(minimum = 1, maximum = 200_000)]
    max_tokens: Option<u32>,
}

impl LimitsRequest {
    /// Fills in the defaults and notes what is out of range.
    pub(super) fn check(&self, skill: Option<&Skill>, errors: &mut Vec<FieldError>) -> Limits {
        let timeout = skill.map_or(Limits::DEFAULT.timeout_seconds, |skill| {
            skill.timeout_seconds
        });
        let mut within = |field: &str, asked: Option<u32>, default: u32, highest: u32| match asked {
            None => default,
            Some(value) => {
                if !(1..=highest).contains(&value) {
                    errors.push(FieldError::new(
                        format!("/limits/{field}"),
                        format!("must be from 1 to {highest}"),
                    ));
                }
                value
            }
        };
        Limits {
            timeout_seconds: within("timeout_seconds", self.timeout_seconds, timeout, 86_400),
            max_iterations: within(
                "max_iterations",
                self.max_iterations,
                Limits::DEFAULT.max_iterations,
                1000,
            ),
            max_tokens: within(
                "max_tokens",
                self.max_tokens,
                Limits::DEFAULT.max_tokens,
                200_000,
            ),
        }
    }
}
