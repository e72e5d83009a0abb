//! The checks and replies of both wire formats.

use serde_json::Value;

use super::chunk;
use super::fault::Faults;
use super::given::Given;
use super::provider::Provider;
use super::reply::ServerVariant;
use super::request::Request;
use super::{anthropic, openai};

/// Adds a fault for everything that a real provider would reject, and for some mistakes that it silently accepts.
pub(super) fn check(request: &Request, known_tools: &[String], faults: &mut Faults) {
    match request.provider {
        Provider::Anthropic => anthropic::check(request, known_tools, faults),
        Provider::OpenAi => openai::check(request, known_tools, faults),
    }
}

/// Whether `message`, in its canonical form, is the reply `given` sent back by the client.
pub(super) fn is_given(provider: Provider, message: &Value, given: &Given) -> bool {
    match provider {
        Provider::Anthropic => anthropic::is_given(message, given),
        Provider::OpenAi => openai::is_given(message, given),
    }
}

/// Returns the SSE events of a reply, each with its final empty line.
pub(super) fn events(given: &Given, request: &Request) -> Vec<String> {
    let events = match request.provider {
        Provider::Anthropic => anthropic::events(given, &request.body),
        Provider::OpenAi => openai::events(given, &request.body),
    };
    let events = events.into_iter();
    match given.message.variant {
        ServerVariant::Usual | ServerVariant::Simple => events.collect(),
        ServerVariant::WithComments => events
            .map(|event| format!(": keep-alive\n\n{event}"))
            .collect(),
        ServerVariant::SplitPairs => events.flat_map(chunk::split_pair).collect(),
    }
}
