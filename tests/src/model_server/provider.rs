//! The two wire formats.

use serde_json::{Value, json};

use super::chunk;
use super::fault::Faults;
use super::given::Given;
use super::reply::Manner;
use super::request::Request;
use super::{anthropic, openai};

/// A wire format. Each has its own path, and its own idea of what a good request is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Anthropic Messages.
    Anthropic,
    /// OpenAI Chat Completions.
    OpenAi,
}

impl Provider {
    /// Notes all that a real provider would refuse, and some that it would silently take.
    pub(super) fn check(self, request: &Request, known_tools: &[String], faults: &mut Faults) {
        match self {
            Self::Anthropic => anthropic::check(request, known_tools, faults),
            Self::OpenAi => openai::check(request, known_tools, faults),
        }
    }

    /// Whether `message`, in its canonical spelling, is `given`, handed back.
    pub(super) fn is_given(self, message: &Value, given: &Given) -> bool {
        match self {
            Self::Anthropic => anthropic::is_given(message, given),
            Self::OpenAi => openai::is_given(message, given),
        }
    }

    /// The stream of SSE events, each with its empty line.
    pub(super) fn events(self, given: &Given, request: &Value) -> Vec<String> {
        let events = match self {
            Self::Anthropic => anthropic::events(given, request),
            Self::OpenAi => openai::events(given, request),
        };
        let events = events.into_iter();
        match given.message.manner {
            Manner::Usual | Manner::Simple => events.collect(),
            Manner::Commenting => events
                .map(|event| format!(": keep-alive\n\n{event}"))
                .collect(),
            Manner::SplitPairs => events.flat_map(chunk::split_pair).collect(),
        }
    }

    /// The body of an error.
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

    /// The event that reports overload in mid-stream.
    pub(super) fn error_event(self) -> String {
        match self {
            Self::Anthropic => format!("event: error\ndata: {}\n\n", self.error(529, "Overloaded")),
            Self::OpenAi => format!("data: {}\n\n", self.error(503, "The server is overloaded")),
        }
    }
}
