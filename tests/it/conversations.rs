//! Conversations: jobs that share a history and a workspace.

mod compaction;
mod history;
mod line;
mod stored;
mod workspace;

use serde_json::{Value, json};
use tests::model_server::Request;

use crate::support::Service;

const CLAUDE: &str = "anthropic/claude-test";
const GPT: &str = "openai/gpt-test";

/// Creates a conversation with an agent.
async fn begin(service: &Service, agent: &str) -> String {
    let (status, conversation) = service
        .post("/v1/conversations", &json!({ "agent": agent }))
        .await;
    assert_eq!(status, 201, "{conversation:#}");
    conversation["id"].as_str().unwrap().to_owned()
}

/// Returns the request for a job that continues a conversation with the default agent.
fn next(conversation: &str, model: &str, prompt: &str) -> Value {
    json!({"agent": "default", "conversation_id": conversation, "model": model, "prompt": prompt})
}

/// Returns all messages of a conversation.
async fn messages(service: &Service, conversation: &str) -> Vec<Value> {
    let path = format!("/v1/conversations/{conversation}?limit=100");
    let (_, found) = service.get(&path).await;
    assert_eq!(found["messages"]["next_cursor"], Value::Null);
    found["messages"]["data"].as_array().unwrap().clone()
}

/// Summarizes the messages of a model request.
fn shown(request: &Request) -> Vec<String> {
    let messages = request["messages"].as_array().unwrap().iter();
    let messages = messages.filter(|message| message["role"] != "system");
    messages
        .map(|message| {
            let calls = message["tool_calls"].as_array().into_iter().flatten();
            let calls = calls.map(|_| "call".to_owned());
            let content = match &message["content"] {
                Value::String(text) if message["role"] == "tool" => vec![format!("result {text}")],
                Value::String(text) => vec![text.clone()],
                Value::Array(blocks) => blocks.iter().map(block).collect(),
                _ => Vec::new(),
            };
            let parts: Vec<_> = content.into_iter().chain(calls).collect();
            format!(
                "{}: {}",
                message["role"].as_str().unwrap(),
                parts.join(" | ")
            )
        })
        .collect()
}

fn block(block: &Value) -> String {
    match block["type"].as_str().unwrap() {
        "text" => block["text"].as_str().unwrap().to_owned(),
        "tool_use" => "call".to_owned(),
        "tool_result" => format!("result {}", block["content"].as_str().unwrap_or("")),
        other => other.to_owned(),
    }
}
