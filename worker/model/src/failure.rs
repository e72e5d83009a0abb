//! A provider's error response as a [`ModelError`].

use std::time::Duration;

use serde_json::Value;

use crate::learned::window_in;
use crate::{ModelError, surrogate};

/// The maximum length of a provider's message that is passed on.
const MAX_MESSAGE_CHARS: usize = 300;

/// The number of characters of the configured key that reveal it. Providers quote wrong keys with the middle masked.
/// A shorter key is a placeholder for a server that needs none.
const REVEALING_CHARS: usize = 8;

/// The prefixes of API keys, whether configured or not.
const KEY_PREFIXES: [&str; 4] = ["sk-", "gsk_", "xai-", "AIza"];

/// Phrases with which providers report that a request is larger than the context window.
const CONTEXT_WORDS: [&str; 7] = [
    "prompt is too long",
    "input is too long",
    "maximum context length",
    "exceed context limit",
    "context length exceeded",
    "exceeds the context window",
    "exceeds the available context size",
];

/// Converts a response with this status and body to an error.
pub(super) fn of_response(status: u16, retry_after: Option<Duration>, body: &str) -> ModelError {
    let error = match serde_json::from_str::<Value>(body) {
        Ok(Value::Array(errors)) => errors.into_iter().next().unwrap_or_default(),
        Ok(error) => error,
        Err(_) => Value::String(if body.trim_start().starts_with('<') {
            without_tags(body)
        } else {
            body.to_owned()
        }),
    };
    classify(status, retry_after, error.get("error").unwrap_or(&error))
}

/// Converts an error object in the middle of a stream to an error.
pub(super) fn of_event(error: &Value) -> ModelError {
    classify(status_of(error), None, error)
}

/// Makes the provider's message presentable: without anything that looks like a key, and with a limited length.
pub(super) fn presentable(error: ModelError, key: &str) -> ModelError {
    let words = |message: String| capped(&redacted(&surrogate::join(message), key));
    match error {
        ModelError::Unavailable {
            retry_after,
            message,
        } => ModelError::Unavailable {
            retry_after,
            message: words(message),
        },
        ModelError::Refused { status, message } => ModelError::Refused {
            status,
            message: words(message),
        },
        ModelError::ContextExceeded { window, message } => ModelError::ContextExceeded {
            window,
            message: words(message),
        },
        ModelError::Protocol(message) => ModelError::Protocol(words(message)),
        // A base URL may contain a password.
        ModelError::Transport(error) => ModelError::Transport(error.without_url()),
        ModelError::RateLimited { .. }
        | ModelError::BrokenStream
        | ModelError::CircuitOpen { .. }
        | ModelError::Paused { .. } => error,
    }
}

fn classify(status: u16, retry_after: Option<Duration>, error: &Value) -> ModelError {
    let message = message_of(error);
    match status {
        // OpenAI also returns 429 for an account without credit, where a wait does not help.
        429 if kinds(error).any(|kind| kind == "insufficient_quota") => {
            ModelError::Refused { status, message }
        }
        429 => ModelError::RateLimited { retry_after },
        // 409 is a lost race on the provider's side. The official clients also try again.
        408 | 409 | 500..=599 => ModelError::Unavailable {
            retry_after,
            message,
        },
        _ if exceeds_context(error, &message) => ModelError::ContextExceeded {
            window: window_in(&message.to_lowercase()),
            message,
        },
        _ => ModelError::Refused { status, message },
    }
}

/// Whether the provider reports that the request is larger than the context window.
fn exceeds_context(error: &Value, message: &str) -> bool {
    let message = message.to_lowercase();
    kinds(error).any(|kind| kind.contains("context_length"))
        || CONTEXT_WORDS.iter().any(|words| message.contains(words))
}

fn kinds(error: &Value) -> impl Iterator<Item = &str> {
    ["type", "code", "status"]
        .into_iter()
        .filter_map(|key| error.get(key)?.as_str())
}

/// Returns the HTTP status that an error would have had before the stream started.
fn status_of(error: &Value) -> u16 {
    let numbers = ["code", "status"].into_iter().filter_map(|key| {
        let value = error.get(key)?;
        value.as_u64().or_else(|| value.as_str()?.parse().ok())
    });
    let status = numbers
        .filter_map(|number| u16::try_from(number).ok())
        .find(|s| (400..600).contains(s));
    status
        .or_else(|| kinds(error).find_map(status_of_kind))
        .unwrap_or(500)
}

fn status_of_kind(kind: &str) -> Option<u16> {
    let known = [
        ("rate_limit", 429),
        ("insufficient_quota", 429),
        ("overloaded", 529),
        ("authentication", 401),
        ("billing", 402),
        ("permission", 403),
        ("not_found", 404),
        ("too_large", 413),
        ("context_length", 400),
        ("invalid", 400),
        ("BadRequest", 400),
    ];
    known
        .iter()
        .find(|(part, _)| kind.contains(part))
        .map(|(_, status)| *status)
}

fn message_of(error: &Value) -> String {
    let message = match error {
        Value::String(text) => text.clone(),
        Value::Object(fields) => {
            let words = ["message", "detail", "error"]
                .into_iter()
                .find_map(|key| fields.get(key));
            words.map_or_else(
                || error.to_string(),
                |words| {
                    words
                        .as_str()
                        .map_or_else(|| words.to_string(), str::to_owned)
                },
            )
        }
        _ => String::new(),
    };
    // OpenRouter wraps the message of the provider behind it.
    match error.pointer("/metadata/raw").and_then(Value::as_str) {
        Some(raw) => format!("{message}: {raw}"),
        None => message,
    }
}

fn without_tags(html: &str) -> String {
    let mut text = String::new();
    for piece in html.split('<') {
        text.push_str(piece.split_once('>').map_or(piece, |(_, after)| after));
        text.push(' ');
    }
    text
}

fn redacted(message: &str, key: &str) -> String {
    let revealing = key.get(..REVEALING_CHARS);
    let words = message.split_whitespace().map(|word| {
        let in_parts = word
            .split(['"', '\'', '`', ':', '=', ',', '('])
            .any(|part| KEY_PREFIXES.iter().any(|prefix| part.starts_with(prefix)));
        let gives_key_away = in_parts || revealing.is_some_and(|start| word.contains(start));
        if gives_key_away { "[redacted]" } else { word }
    });
    words.collect::<Vec<_>>().join(" ")
}

fn capped(message: &str) -> String {
    if message.is_empty() {
        return "no reason given".to_owned();
    }
    match message.char_indices().nth(MAX_MESSAGE_CHARS) {
        None => message.to_owned(),
        Some(_) => message
            .chars()
            .take(MAX_MESSAGE_CHARS - 1)
            .chain(['…'])
            .collect(),
    }
}

#[cfg(test)]
mod tests;
