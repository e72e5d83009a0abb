//! Tests of Chat Completions against a fake server.

use futures_util::stream::StreamExt;
use serde_json::json;
use std::time::Duration;

use shared::message::AssistantMessage;
use shared::provider::ProviderKind;

use super::*;
use crate::fake_server::{FakeAnswer, FakeServer};
use crate::wire_rules::client;
use crate::{ModelMessage, Part};

const HELLO: &str = r#"{"choices":[{"index":0,"delta":{"content":"Hello"}}]}"#;
const STOP: &str = r#"{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}"#;

fn model(base_url: &str, key: Option<&str>) -> OpenAi {
    let provider = Provider::new(ProviderKind::Openai, base_url.into(), None);
    OpenAi::new(client(), &provider, key, "gpt-x", "openai/gpt-x".into())
}

async fn ask(model: &OpenAi) -> Result<AssistantMessage, ModelError> {
    let messages = [ModelMessage::User(vec![Part::Text("hi".into())])];
    let request = ModelRequest {
        system: "",
        tools: &[],
        messages: &messages,
        max_tokens: 10,
        output_schema: None,
    };
    match model.stream(request).collect::<Vec<_>>().await.pop() {
        Some(Ok(ModelEvent::Completed(message))) => Ok(message),
        Some(Err(error)) => Err(error),
        other => panic!("the last event is {other:?}"),
    }
}

#[tokio::test]
async fn a_call_carries_the_key_if_there_is_one() {
    let answer = || FakeAnswer::stream(&[HELLO, STOP, "[DONE]"]);
    let server = FakeServer::start(vec![answer(), answer()]).await;
    for key in [Some("sk-secret"), None] {
        let base_url = format!("{}/v1/", server.url);
        assert_eq!(ask(&model(&base_url, key)).await.unwrap().text(), "Hello");
    }
    let calls = server.calls().await;
    assert!(
        calls[0]
            .0
            .starts_with("post /v1/chat/completions http/1.1\r\n")
    );
    assert!(calls[0].0.contains("authorization: bearer sk-secret\r\n"));
    assert!(!calls[1].0.contains("authorization"));
    let expected = json!({
        "model": "gpt-x",
        "stream": true,
        "messages": [{ "role": "user", "content": "hi" }],
        "max_tokens": 10,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(calls[0].1, expected);
}

#[tokio::test]
async fn a_parameter_that_the_server_refuses_is_left_out_from_then_on() {
    let refusal = r#"{"error":{"message":"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."}}"#;
    let server = FakeServer::start(vec![
        FakeAnswer::status(400, "", refusal),
        FakeAnswer::stream(&[HELLO, STOP]),
        FakeAnswer::stream(&[HELLO, STOP]),
    ])
    .await;
    let model = model(&server.url, None);
    ask(&model).await.unwrap();
    ask(&model).await.unwrap();
    let calls = server.calls().await;
    let caps = calls
        .iter()
        .map(|(_, body)| (body.get("max_tokens"), body.get("max_completion_tokens")));
    let cap = json!(10);
    assert_eq!(
        caps.collect::<Vec<_>>(),
        [(Some(&cap), None), (None, Some(&cap)), (None, Some(&cap))]
    );
}

#[tokio::test]
async fn a_server_that_does_not_stream_is_understood() {
    let json = "content-type: application/json; charset=utf-8\r\n";
    let server = FakeServer::start(vec![
        FakeAnswer::status(
            200,
            json,
            r#"{"object":"chat.completion","choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}],"usage":{"prompt_tokens":3,"completion_tokens":1}}"#,
        ),
        FakeAnswer::status(200, json, r#"{"error":{"message":"no such model","code":404}}"#),
    ])
    .await;
    let model = model(&server.url, None);
    let message = ask(&model).await.unwrap();
    assert_eq!(
        (message.text().as_str(), message.usage.input_tokens),
        ("Hi", 3)
    );
    assert!(matches!(
        ask(&model).await,
        Err(ModelError::Refused { status: 404, .. })
    ));
}

#[tokio::test]
async fn a_status_or_a_cut_becomes_the_error_that_it_means() {
    let quota = r#"{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}"#;
    let server = FakeServer::start(vec![
        FakeAnswer::status(429, "retry-after: 20\r\n", ""),
        FakeAnswer::status(429, "", quota),
        FakeAnswer::status(503, "", "no healthy upstream"),
        FakeAnswer::stream(&[HELLO]).cut(),
        FakeAnswer::stream(&[HELLO, STOP]).cut(),
    ])
    .await;
    let model = model(&server.url, Some("sk-secret"));
    let limited = ask(&model).await.unwrap_err();
    assert_eq!(limited.retry_after(), Some(Duration::from_secs(20)));
    assert!(matches!(
        ask(&model).await,
        Err(ModelError::Refused { status: 429, .. })
    ));
    let failing = ask(&model).await.unwrap_err();
    assert_eq!(
        failing.to_string(),
        "the provider is overloaded or failing: no healthy upstream"
    );
    assert!(matches!(ask(&model).await, Err(ModelError::Transport(_))));
    assert_eq!(
        ask(&model).await.unwrap().text(),
        "Hello",
        "it was whole before the cut"
    );
}
