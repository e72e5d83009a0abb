//! Rules for tool calls, as clients send them.

use serde::{Deserialize, Serialize};
use shared::hook::{Hooks, ToolPattern};

use crate::problem::FieldError;

const MAX_HOOKS: usize = 64;

/// Three lists of patterns. They are parsed later, so that validation can report each invalid pattern.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct HooksRequest {
    confirm: Vec<String>,
    log: Vec<String>,
    silent: Vec<String>,
}

impl HooksRequest {
    /// Returns the rules, and adds an error for each invalid pattern.
    pub(crate) fn check(&self, errors: &mut Vec<FieldError>) -> Hooks {
        let mut list = |name: &str, texts: &[String]| {
            if texts.len() > MAX_HOOKS {
                let detail = format!("must have at most {MAX_HOOKS} patterns");
                errors.push(FieldError::new(format!("/hooks/{name}"), detail));
            }
            let mut patterns = Vec::new();
            for (place, text) in texts.iter().take(MAX_HOOKS).enumerate() {
                match ToolPattern::parse(text) {
                    Ok(pattern) => patterns.push(pattern),
                    Err(error) => errors.push(FieldError::new(
                        format!("/hooks/{name}/{place}"),
                        error.to_string(),
                    )),
                }
            }
            patterns
        };
        Hooks {
            confirm: list("confirm", &self.confirm),
            log: list("log", &self.log),
            silent: list("silent", &self.silent),
        }
    }
}
