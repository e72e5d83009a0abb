//! The differences between servers that speak Chat Completions.

use serde_json::{Value, json};
use shared::provider::{CapField, MediaKind, Provider};

use crate::media::AcceptedMedia;
use crate::strict_schema;
use crate::vendor;
use crate::{ModelError, ModelMessage};

/// The kinds of files that the format supports.
const TAKES: [MediaKind; 3] = [MediaKind::Image, MediaKind::Pdf, MediaKind::Audio];

/// The hosts of the vendors that defined the format.
const VENDORS: [&str; 2] = ["openai.com", "azure.com"];

/// The features and limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Dialect {
    /// The name of the cap. OpenAI's newer models reject `max_tokens`, which is the only name that many other servers
    /// accept. Some servers reject a request with both.
    cap_field: CapField,
    /// Whether the name is certain, so that the other name is not tried.
    cap_field_is_sure: bool,
    /// Whether to request the usage with `stream_options`. Some servers send it anyway.
    stream_options: bool,
    /// Whether the last message can be constrained to a schema.
    pub(super) structured_output: bool,
    /// Whether thoughts are sent back in the fields in which they arrived. Some servers require
    /// that, and others reject it.
    pub(super) thoughts: bool,
    /// The kinds of files that the model accepts.
    pub(super) takes: AcceptedMedia,
}

impl Dialect {
    /// Returns the expected dialect of a provider.
    pub(super) fn of(provider: &Provider) -> Self {
        Self {
            cap_field: provider
                .cap_field
                .unwrap_or_else(|| usual_cap_field(&provider.base_url)),
            cap_field_is_sure: provider.cap_field.is_some(),
            stream_options: true,
            structured_output: strict_schema::is_offered(provider, &VENDORS),
            thoughts: true,
            takes: AcceptedMedia::of(&TAKES, provider.takes.as_deref()),
        }
    }

    /// Adds the parameters to the body of a request.
    pub(super) fn apply(self, body: &mut Value, max_tokens: u32) {
        let field = match self.cap_field {
            CapField::MaxTokens => "max_tokens",
            CapField::MaxCompletionTokens => "max_completion_tokens",
        };
        body[field] = json!(max_tokens);
        if self.stream_options {
            body["stream_options"] = json!({ "include_usage": true });
        }
    }

    /// Returns the dialect that a refusal requires, if it names a parameter or a file. Each part of the dialect
    /// changes at most once, so a loop of corrected requests ends.
    pub(super) fn corrected(self, error: &ModelError, messages: &[ModelMessage]) -> Option<Self> {
        if let ModelError::Refused {
            status: 400 | 422,
            message,
        } = error
            && let Some(corrected) = self.without_parameter(message)
        {
            return Some(corrected);
        }
        let takes = self.takes.corrected(error, messages)?;
        Some(Self { takes, ..self })
    }

    fn without_parameter(self, refusal: &str) -> Option<Self> {
        // Either name may be the rejected one or the required one.
        if !self.cap_field_is_sure && refusal.contains("max_completion_tokens") {
            return Some(Self {
                cap_field: match self.cap_field {
                    CapField::MaxTokens => CapField::MaxCompletionTokens,
                    CapField::MaxCompletionTokens => CapField::MaxTokens,
                },
                cap_field_is_sure: true,
                ..self
            });
        }
        if self.stream_options && refusal.contains("stream_options") {
            return Some(Self {
                stream_options: false,
                ..self
            });
        }
        if self.structured_output && is_about_schema(refusal) {
            return Some(Self {
                structured_output: false,
                ..self
            });
        }
        // For a server that reports missing thoughts, leaving them out would not help.
        let is_refused =
            refusal.contains("reasoning") && !refusal.to_lowercase().contains("missing");
        (self.thoughts && is_refused).then_some(Self {
            thoughts: false,
            ..self
        })
    }
}

fn is_about_schema(refusal: &str) -> bool {
    refusal.contains("response_format") || refusal.contains("json_schema")
}

fn usual_cap_field(base_url: &str) -> CapField {
    if vendor::is_host_of(base_url, &VENDORS) {
        CapField::MaxCompletionTokens
    } else {
        CapField::MaxTokens
    }
}

#[cfg(test)]
mod tests {
    use shared::provider::ProviderKind;

    use super::*;

    fn provider(base_url: &str) -> Provider {
        Provider::new(ProviderKind::Openai, base_url.into(), None)
    }

    fn refused(message: &str) -> ModelError {
        ModelError::Refused {
            status: 400,
            message: message.into(),
        }
    }

    fn applied(dialect: Dialect) -> Value {
        let mut body = json!({});
        dialect.apply(&mut body, 9);
        body
    }

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
            let expected = json!({ cap: 9, "stream_options": { "include_usage": true } });
            let body = applied(Dialect::of(&provider(base_url)));
            assert_eq!(body, expected, "{base_url}");
        }
    }

    #[test]
    fn a_refusal_that_names_a_parameter_corrects_the_dialect_once() {
        let cap =
            refused("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.");
        let usage = refused("stream_options: Extra inputs are not permitted");
        let thoughts = refused("'messages.2' : property 'reasoning' is unsupported");
        let first = Dialect::of(&provider("http://proxy/v1"));
        let mut last = first;
        for refusal in [&cap, &usage, &thoughts] {
            last = last.corrected(refusal, &[]).unwrap();
        }
        assert_eq!(applied(last), json!({ "max_completion_tokens": 9 }));
        assert!(first.thoughts && !last.thoughts);
        for refusal in [&cap, &usage, &thoughts] {
            assert_eq!(last.corrected(refusal, &[]), None);
        }
        for other in [
            "max_tokens is too large",
            "Missing `reasoning_content` field",
        ] {
            assert_eq!(first.corrected(&refused(other), &[]), None, "{other}");
        }
    }

    #[test]
    fn an_older_server_behind_a_known_host_gets_the_older_name_and_a_setting_is_not_doubted() {
        let refusal = refused("Unrecognized request argument supplied: max_completion_tokens");
        let azure = provider("https://mine.openai.azure.com/v1");
        let corrected = Dialect::of(&azure).corrected(&refusal, &[]).unwrap();
        assert_eq!(applied(corrected)["max_tokens"], 9);
        assert_eq!(corrected.corrected(&refusal, &[]), None);
        let sure = Provider {
            cap_field: Some(CapField::MaxCompletionTokens),
            ..azure
        };
        assert_eq!(Dialect::of(&sure).corrected(&refusal, &[]), None);
    }
}
