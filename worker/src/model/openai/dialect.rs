//! In what the servers that speak Chat Completions differ.

use reqwest::Url;
use serde_json::{Value, json};

use crate::model::ModelError;

/// The parameters that a server knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The cap is called `max_completion_tokens`: OpenAI's newer models refuse `max_tokens`, which is
    /// all that many other servers know. Some refuse both at once.
    max_completion_tokens: bool,
    /// `stream_options` asks for the usage, which some servers send anyway.
    stream_options: bool,
}

impl Dialect {
    /// The dialect to expect at a base URL.
    pub(super) fn of(base_url: &str) -> Self {
        let url = Url::parse(base_url).ok();
        let host = url.as_ref().and_then(Url::host_str).unwrap_or_default();
        let openai = ["openai.com", "azure.com"].into_iter().any(|domain| {
            host.strip_suffix(domain)
                .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        Self {
            max_completion_tokens: openai,
            stream_options: true,
        }
    }

    /// Puts the parameters into the body of a request.
    pub(super) fn apply(self, body: &mut Value, max_tokens: u32) {
        let Some(fields) = body.as_object_mut() else {
            return;
        };
        let (cap, other) = if self.max_completion_tokens {
            ("max_completion_tokens", "max_tokens")
        } else {
            ("max_tokens", "max_completion_tokens")
        };
        fields.shift_remove(other);
        fields.insert(cap.into(), json!(max_tokens));
        fields.shift_remove("stream_options");
        if self.stream_options {
            fields.insert("stream_options".into(), json!({ "include_usage": true }));
        }
    }

    /// The dialect that a refusal asks for, if it names a parameter. Each answer changes what can be
    /// changed only once, so asking until there is no other ends.
    pub(super) fn corrected(self, error: &ModelError) -> Option<Self> {
        let ModelError::Refused {
            status: 400 | 422,
            message,
        } = error
        else {
            return None;
        };
        if !self.max_completion_tokens && message.contains("max_completion_tokens") {
            return Some(Self {
                max_completion_tokens: true,
                ..self
            });
        }
        if self.stream_options && message.contains("stream_options") {
            return Some(Self {
                stream_options: false,
                ..self
            });
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_the_cap_follows_the_host() {
        for (base_url, cap) in [
            ("https://api.openai.com/v1", "max_completion_tokens"),
            ("https://us.api.openai.com/v1", "max_completion_tokens"),
            (
                "https://mine.openai.azure.com/openai/v1",
                "max_completion_tokens",
            ),
            ("https://notopenai.com/v1", "max_tokens"),
            ("https://openrouter.ai/api/v1", "max_tokens"),
            ("http://localhost:11434/v1", "max_tokens"),
            ("nonsense", "max_tokens"),
        ] {
            let mut body = json!({});
            Dialect::of(base_url).apply(&mut body, 9);
            assert_eq!(
                body,
                json!({ cap: 9, "stream_options": { "include_usage": true } }),
                "{base_url}"
            );
        }
    }

    #[test]
    fn a_refusal_that_names_a_parameter_corrects_the_dialect_once() {
        let refused = |message: &str| ModelError::Refused {
            status: 400,
            message: message.into(),
        };
        let cap =
            refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
        let usage = refused("stream_options: Extra inputs are not permitted");
        let first = Dialect::of("http://proxy/v1");
        let second = first.corrected(&cap).unwrap();
        let third = second.corrected(&usage).unwrap();
        let mut body = json!({});
        first.apply(&mut body, 9);
        third.apply(&mut body, 9);
        assert_eq!(body, json!({ "max_completion_tokens": 9 }));
        assert_eq!(third.corrected(&cap), None);
        assert_eq!(third.corrected(&usage), None);
        assert_eq!(first.corrected(&refused("max_tokens is too large")), None);
    }
}
