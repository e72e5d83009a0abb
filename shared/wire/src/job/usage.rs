//! Tokens and money that a job has used.

use serde::{Deserialize, Serialize};

use crate::message::Tokens;
use crate::money::Usd;

/// The usage of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// Tokens over all replies.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// Replies of the model.
    pub iterations: u32,
    /// Calls of tools.
    pub tool_calls: u32,
    /// Unconfirmed usage, which counts in addition.
    #[serde(flatten)]
    pub presumed: Presumed,
}

/// The assumed usage of model calls under a budget whose usage was never reported: the stream broke off, the worker was
/// lost, or the provider does not count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Presumed {
    /// Tokens, at most.
    #[serde(
        rename = "presumed_tokens",
        default,
        skip_serializing_if = "is_default"
    )]
    pub tokens: u64,
    /// Their cost, at most.
    #[serde(
        rename = "presumed_cost_usd",
        default,
        skip_serializing_if = "is_default"
    )]
    pub cost: Usd,
}

/// The most that a model call can use up: the data of `budget.reserved`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reservation {
    /// Tokens, read and written.
    pub tokens: u64,
    /// Their cost; missing if the price is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<Usd>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_usage_can_be_read_and_a_plain_one_is_short() {
        let json = r#"{"input_tokens":1,"output_tokens":2,"iterations":3,"tool_calls":4}"#;
        let usage: Usage = serde_json::from_str(json).unwrap();
        assert_eq!(
            (usage.tokens.total(), usage.presumed),
            (3, Presumed::default())
        );
        let text = serde_json::to_string(&usage).unwrap();
        assert!(
            !text.contains("presumed") && !text.contains("cost"),
            "{text}"
        );
    }
}
