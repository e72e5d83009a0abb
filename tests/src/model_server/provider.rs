//! The two wire formats and their errors.

use serde_json::{Value, json};

/// A wire format. Each has its own path and its own rules for requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// The Anthropic Messages format.
    Anthropic,
    /// The OpenAI Chat Completions format.
    OpenAi,
}

impl Provider {
    /// The body of an error response.
    pub(super) fn error(self, status: u16, message: &str) -> Value {
        let kind = match (self, status) {
            (_, 401) => "authentication_error",
            (_, 403) => "permission_error",
            (_, 404) => "not_found_error",
            (Self::Anthropic, 413) => "request_too_large",
            (_, 429) => "rate_limit_error",
            (Self::Anthropic, 529) => "overloaded_error",
            (Self::Anthropic, 500..) => "api_error",
            (Self::OpenAi, 500..) => "server_error",
            _ => "invalid_request_error",
        };
        match self {
            Self::Anthropic => {
                json!({"type": "error", "error": {"type": kind, "message": message}})
            }
            Self::OpenAi => {
                json!({"error": {"message": message, "type": kind, "param": null, "code": null}})
            }
        }
    }

    /// The event that reports overload in the middle of a stream.
    pub(super) fn error_event(self) -> String {
        match self {
            Self::Anthropic => format!("event: error\ndata: {}\n\n", self.error(529, "Overloaded")),
            Self::OpenAi => format!("data: {}\n\n", self.error(503, "The server is overloaded")),
        }
    }
}
