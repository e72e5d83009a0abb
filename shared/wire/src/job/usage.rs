//! Usage of a job: tokens, cost, replies and tool calls.

use serde::{Deserialize, Serialize};

use crate::message::Tokens;
use crate::money::Usd;

/// The usage of a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Usage {
    /// The tokens of all replies.
    #[serde(flatten)]
    pub tokens: Tokens,
    /// The number of model replies.
    pub iterations: u32,
    /// The number of tool calls.
    pub tool_calls: u32,
    /// Unconfirmed usage. It counts in addition.
    #[serde(flatten)]
    pub presumed: Presumed,
}

/// The assumed usage of model calls under a budget whose usage was never reported: the stream broke off, the worker
/// was lost, or the provider does not report usage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Presumed {
    /// The maximum number of tokens that these calls can have used.
    #[serde(
        rename = "presumed_tokens",
        default,
        skip_serializing_if = "is_default"
    )]
    pub tokens: u64,
    /// The maximum cost of these tokens, in US dollars.
    #[serde(
        rename = "presumed_cost_usd",
        default,
        skip_serializing_if = "is_default"
    )]
    pub cost: Usd,
}

/// The maximum usage of a model call: the data of `budget.reserved`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Reservation {
    /// The maximum number of tokens, read and written.
    pub tokens: u64,
    /// The maximum cost in US dollars. Missing if the price is not known.
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
