//! The rules of both providers for any transcript, for tests.

use std::sync::Arc;

use serde_json::{Value, json};
use shared::provider::{Provider, ProviderKind};

use crate::anthropic::Anthropic;
use crate::openai::OpenAi;
use crate::{ModelMessage, ModelRequest, ToolSpec};

/// Creates a client like that of the worker.
pub(crate) fn client() -> reqwest::Client {
    // Another test may have installed it already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .no_proxy()
        .build()
        .expect("a client without a proxy can be built")
}

/// A wire format, with the model that renders for it.
pub enum Wire {
    /// The Messages API.
    Anthropic(Anthropic),
    /// The Chat Completions API.
    OpenAi(OpenAi),
}

impl Wire {
    /// Creates both wire formats, for models with these names.
    pub fn both(anthropic: &str, openai: &str) -> [Self; 2] {
        let provider = |kind| Provider::new(kind, "http://127.0.0.1:1/v1".into(), None);
        let (one, other) = (
            provider(ProviderKind::Anthropic),
            provider(ProviderKind::Openai),
        );
        [
            Self::Anthropic(Anthropic::new(client(), &one, "k", "m", anthropic.into())),
            Self::OpenAi(OpenAi::new(client(), &other, None, "m", openai.into())),
        ]
    }

    /// Renders a request with these messages. Returns the faults for which its provider would reject it.
    pub fn faults(&self, messages: &[ModelMessage]) -> Vec<String> {
        let tools = [Arc::new(ToolSpec {
            name: "file.read".into(),
            description: "Reads.".into(),
            input_schema: json!({ "type": "object" }),
        })];
        let request = ModelRequest {
            system: "Be brief.",
            tools: &tools,
            messages,
            max_tokens: 1,
            output_schema: None,
        };
        let (body, mut faults) = match self {
            Self::Anthropic(model) => {
                let body = model.body(&request);
                let faults = anthropic(&body);
                (body, faults)
            }
            Self::OpenAi(model) => {
                let body = model.body(&request);
                let faults = openai(&body);
                (body, faults)
            }
        };
        if let Some(first) = faults.first_mut() {
            *first += &format!(" in {body:#}");
        }
        faults
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn ids(blocks: &[Value], kind: &str, field: &str) -> Vec<Value> {
    let blocks = blocks.iter().filter(|block| block["type"] == kind);
    blocks.map(|block| block[field].clone()).collect()
}

fn anthropic(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open = Vec::new();
    let messages = list(&body["messages"]);
    for (index, message) in messages.iter().enumerate() {
        let role = if index % 2 == 0 { "user" } else { "assistant" };
        let blocks = list(&message["content"]);
        let is_blank = |block: &Value| {
            let text = block["text"].as_str().unwrap_or_default();
            block["type"] == "text" && text.trim().is_empty()
        };
        let results = ids(&blocks, "tool_result", "tool_use_id");
        let lead = blocks.iter().take(results.len());
        let checks = [
            (message["role"] == role, "roles do not alternate"),
            (!blocks.is_empty(), "a content is empty"),
            (!blocks.iter().any(is_blank), "a text is blank"),
            (results == open, "calls and results do not match"),
            (
                lead.into_iter().all(|block| block["type"] == "tool_result"),
                "results do not lead",
            ),
            (role == "user" || results.is_empty(), "a reply has results"),
        ];
        faults.extend(
            checks
                .iter()
                .filter(|check| !check.0)
                .map(|check| check.1.to_owned()),
        );
        open = ids(&blocks, "tool_use", "id");
        let is_sound = |id: &Value| {
            let id = id.as_str().unwrap_or_default();
            let is_sound = |char: char| char.is_ascii_alphanumeric() || "_-".contains(char);
            !id.is_empty() && id.chars().all(is_sound)
        };
        if !open.iter().all(is_sound) {
            faults.push(format!("ids {open:?} are not sound"));
        }
    }
    if messages.len().is_multiple_of(2) {
        faults.push("the user is not the last".to_owned());
    }
    if body.to_string().matches("cache_control").count() > 4 {
        faults.push("there are too many cache markers".to_owned());
    }
    faults
}

fn openai(body: &Value) -> Vec<String> {
    let mut faults = Vec::new();
    let mut open: Vec<Value> = Vec::new();
    let mut before = Value::Null;
    for message in list(&body["messages"]) {
        let role = message["role"].as_str().unwrap_or_default();
        if role == "tool" {
            if open.is_empty() || open.remove(0) != message["tool_call_id"] {
                faults.push("a result has no call, or comes out of order".to_owned());
            }
        } else if !open.is_empty() {
            faults.push("a call has no result".to_owned());
        }
        let calls = list(&message["tool_calls"]);
        let is_empty = message["content"].as_str().unwrap_or_default().is_empty();
        match role {
            "assistant" if is_empty && calls.is_empty() => {
                faults.push("a reply is empty".to_owned());
            }
            "assistant" | "user" if before == role => {
                faults.push(format!("{role} speaks twice in a row"));
            }
            "user" if is_empty => faults.push("the user says nothing".to_owned()),
            _ => {}
        }
        open.extend(calls.iter().map(|call| call["id"].clone()));
        before = message["role"].clone();
    }
    if !open.is_empty() || (before != "user" && before != "tool") {
        faults.push(format!(
            "{before} is the last, with the calls {open:?} open"
        ));
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_providers_refuse_is_found() {
        let text = |text: &str| json!([{ "type": "text", "text": text }]);
        let call = json!([{ "type": "tool_use", "id": "a" }]);
        let user = |content: Value| json!({ "role": "user", "content": content });
        let reply = |content: Value| json!({ "role": "assistant", "content": content });
        for (messages, fault) in [
            (json!([user(text("a")), user(text("b"))]), "alternate"),
            (json!([user(text(" "))]), "blank"),
            (json!([user(json!([]))]), "empty"),
            (json!([user(text("a")), reply(text("b"))]), "last"),
            (
                json!([user(text("a")), reply(call), user(text("b"))]),
                "match",
            ),
        ] {
            let faults = anthropic(&json!({ "messages": messages })).join("; ");
            assert!(faults.contains(fault), "{fault}: {faults}");
        }
        let call = json!({ "role": "assistant", "tool_calls": [{ "id": "a" }] });
        for (messages, fault) in [
            (
                json!([user("a".into()), user("b".into())]),
                "twice in a row",
            ),
            (
                json!([user("a".into()), reply("".into())]),
                "reply is empty",
            ),
            (
                json!([user("a".into()), call, user("b".into())]),
                "no result",
            ),
            (json!([{ "role": "tool", "tool_call_id": "a" }]), "no call"),
        ] {
            let faults = openai(&json!({ "messages": messages })).join("; ");
            assert!(faults.contains(fault), "{fault}: {faults}");
        }
    }
}
