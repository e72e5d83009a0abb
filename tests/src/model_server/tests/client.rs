//! A minimal client of the wire formats.

use std::sync::LazyLock;

use futures_util::StreamExt;
use serde_json::{Value, json};

use crate::model_server::{ModelServer, Provider};

/// Both wire formats, for tests that apply to both.
pub(super) const BOTH: [Provider; 2] = [Provider::Anthropic, Provider::OpenAi];

/// A client without idle connections, because each would end with the runtime of its test.
pub(super) static CLIENT: LazyLock<reqwest::Client> = LazyLock::new(|| {
    // Another test may have installed the provider first.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::builder()
        .pool_max_idle_per_host(0)
        .build()
        .unwrap()
});

/// A complete reply, assembled from its events.
#[derive(Debug, Default, PartialEq)]
pub(super) struct AssembledReply {
    pub(super) text: String,
    pub(super) thinking: String,
    pub(super) signature: String,
    /// The id, name and arguments of each tool call.
    pub(super) calls: Vec<(String, String, String)>,
    pub(super) stop_reason: String,
    /// The input and output tokens.
    pub(super) usage: (u64, u64),
    pub(super) is_complete: bool,
}

/// Creates a valid request with these messages.
pub(super) fn request(provider: Provider, messages: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"command": {"type": "string"}}});
    match provider {
        Provider::Anthropic => json!({
            "model": "claude-test",
            "max_tokens": 4096,
            "stream": true,
            "system": "You are a test.",
            "tools": [{"name": "execute_bash", "description": "Runs", "input_schema": schema}],
            "messages": messages,
        }),
        Provider::OpenAi => json!({
            "model": "gpt-test",
            "max_completion_tokens": 4096,
            "stream": true,
            "stream_options": {"include_usage": true},
            "tools": [{"type": "function", "function": {
                "name": "execute_bash", "description": "Runs", "parameters": schema,
            }}],
            "messages": messages,
        }),
    }
}

/// Creates a valid first request under this marker.
pub(super) fn first(provider: Provider, marker: &str) -> Value {
    request(provider, json!([user(marker)]))
}

/// Creates a prompt with this marker.
pub(super) fn user(marker: &str) -> Value {
    json!({"role": "user", "content": format!("Draw #{marker}, please.")})
}

/// Sends a request with the headers of its provider.
pub(super) async fn post(
    model: &ModelServer,
    provider: Provider,
    body: &Value,
) -> reqwest::Response {
    builder(model, provider).json(body).send().await.unwrap()
}

/// Creates a request without a body.
pub(super) fn builder(model: &ModelServer, provider: Provider) -> reqwest::RequestBuilder {
    match provider {
        Provider::Anthropic => CLIENT
            .post(format!("{}/v1/messages", model.base_url()))
            .header("x-api-key", "secret")
            .header("anthropic-version", "2023-06-01"),
        Provider::OpenAi => CLIENT
            .post(format!("{}/chat/completions", model.openai_base_url()))
            .bearer_auth("secret"),
    }
}

/// Sends a request and reads the complete reply.
pub(super) async fn ask(model: &ModelServer, provider: Provider, body: &Value) -> AssembledReply {
    let response = post(model, provider, body).await;
    let status = response.status();
    let (bytes, is_cut) = read(response).await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&bytes));
    assert!(!is_cut);
    assemble(provider, &bytes)
}

/// Reads the response body, and returns whether the connection was cut.
pub(super) async fn read(response: reqwest::Response) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(_) => return (bytes, true),
        }
    }
    (bytes, false)
}

/// Assembles a reply from its events.
pub(super) fn assemble(provider: Provider, bytes: &[u8]) -> AssembledReply {
    let text = std::str::from_utf8(bytes).unwrap();
    let mut reply = AssembledReply::default();
    for event in text.split_terminator("\n\n") {
        let (_, data) = event.split_once("data: ").unwrap();
        if data == "[DONE]" {
            reply.is_complete = true;
            continue;
        }
        let data: Value = serde_json::from_str(data).unwrap();
        match provider {
            Provider::Anthropic => reply.anthropic(&data),
            Provider::OpenAi => reply.openai(&data),
        }
    }
    reply
}

impl AssembledReply {
    fn anthropic(&mut self, event: &Value) {
        let delta = &event["delta"];
        let push = |text: &mut String, field: &str| {
            text.push_str(delta[field].as_str().unwrap_or_default());
        };
        match event["type"].as_str().unwrap() {
            "message_start" => {
                self.usage.0 = event["message"]["usage"]["input_tokens"].as_u64().unwrap();
            }
            "content_block_start" if event["content_block"]["type"] == "tool_use" => {
                let block = &event["content_block"];
                let [id, name] = ["id", "name"].map(|field| string(&block[field]));
                self.calls.push((id, name, String::new()));
            }
            "content_block_delta" => {
                push(&mut self.text, "text");
                push(&mut self.thinking, "thinking");
                push(&mut self.signature, "signature");
                if let Some((_, _, arguments)) = self.calls.last_mut() {
                    push(arguments, "partial_json");
                }
            }
            "message_delta" => {
                self.stop_reason = string(&delta["stop_reason"]);
                self.usage.1 = event["usage"]["output_tokens"].as_u64().unwrap();
            }
            "message_stop" => self.is_complete = true,
            _ => {}
        }
    }

    fn openai(&mut self, chunk: &Value) {
        if let Some(input) = chunk["usage"]["prompt_tokens"].as_u64() {
            self.usage = (input, chunk["usage"]["completion_tokens"].as_u64().unwrap());
        }
        let choice = &chunk["choices"][0];
        self.text.push_str(&string(&choice["delta"]["content"]));
        self.thinking
            .push_str(&string(&choice["delta"]["reasoning_content"]));
        self.stop_reason.push_str(&string(&choice["finish_reason"]));
        for call in choice["delta"]["tool_calls"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let index = call["index"].as_u64().unwrap() as usize;
            if index == self.calls.len() {
                let (id, name) = (string(&call["id"]), string(&call["function"]["name"]));
                self.calls.push((id, name, String::new()));
            }
            self.calls[index]
                .2
                .push_str(&string(&call["function"]["arguments"]));
        }
    }

    /// The message with which a client sends the reply back.
    pub(super) fn message(&self, provider: Provider) -> Value {
        let arguments = |json: &str| -> Value { serde_json::from_str(json).unwrap_or(json!({})) };
        match provider {
            Provider::Anthropic => {
                let mut content = Vec::new();
                if !self.signature.is_empty() {
                    let (thinking, signature) = (&self.thinking, &self.signature);
                    content.push(json!(
                        {"type": "thinking", "thinking": thinking, "signature": signature}
                    ));
                }
                if !self.text.is_empty() {
                    content.push(json!({"type": "text", "text": self.text}));
                }
                content.extend(self.calls.iter().map(|(id, name, json)| {
                    json!({"type": "tool_use", "id": id, "name": name, "input": arguments(json)})
                }));
                json!({"role": "assistant", "content": content})
            }
            Provider::OpenAi => {
                let mut message = json!({"role": "assistant", "content": self.text});
                if !self.calls.is_empty() {
                    let calls = self.calls.iter().map(|(id, name, json)| {
                        let function = json!({"name": name, "arguments": json});
                        json!({"id": id, "type": "function", "function": function})
                    });
                    message["tool_calls"] = calls.collect();
                }
                message
            }
        }
    }

    /// The messages with the results of all tool calls.
    pub(super) fn results(&self, provider: Provider, result: &str) -> Vec<Value> {
        let ids = self.calls.iter().map(|(id, ..)| id);
        match provider {
            Provider::Anthropic => {
                let blocks: Vec<Value> = ids
                    .map(|id| json!({"type": "tool_result", "tool_use_id": id, "content": result}))
                    .collect();
                vec![json!({"role": "user", "content": blocks})]
            }
            Provider::OpenAi => ids
                .map(|id| json!({"role": "tool", "tool_call_id": id, "content": result}))
                .collect(),
        }
    }
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}
