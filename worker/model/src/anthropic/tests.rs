//! Tests of the Messages API against a fake server.

use futures_util::stream::StreamExt;
use serde_json::json;
use shared::provider::ProviderKind;

use super::*;
use crate::fake_server::{FakeAnswer, FakeServer};
use crate::wire_rules::client;
use crate::{ModelMessage, Part, retry};

const START: &str = r#"{"type":"message_start","message":{"usage":{"input_tokens":1}}}"#;
const BLOCK: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
const HELLO: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#;
const WORLD: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":" world"}}"#;
const END: &str =
    r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn model(base_url: &str) -> Anthropic {
    Anthropic::new(
        client(),
        &Provider::new(ProviderKind::Anthropic, base_url.into(), None),
        " sk-ant-secret\n",
        "claude-x",
        "anthropic/claude-x".into(),
    )
}

/// Sends a request. Returns the deltas, and the text of the completed message or the error.
async fn ask(model: &Anthropic, with_retries: bool) -> (Vec<String>, Result<String, ModelError>) {
    let messages = [ModelMessage::User(vec![Part::Text("hi".into())])];
    let request = ModelRequest {
        system: "",
        tools: &[],
        messages: &messages,
        max_tokens: 10,
        output_schema: None,
    };
    let models: [&dyn LanguageModel; 1] = [model];
    let mut stream = if with_retries {
        retry::stream(&models, request, &|_| Box::pin(std::future::ready(true)))
    } else {
        model.stream(request)
    };
    let mut deltas = Vec::new();
    while let Some(event) = stream.next().await {
        match event {
            Ok(ModelEvent::Begun) => {}
            Ok(ModelEvent::Text(text) | ModelEvent::Reasoning(text)) => deltas.push(text),
            Ok(ModelEvent::Completed(message)) => {
                assert!(stream.next().await.is_none());
                return (deltas, Ok(message.text()));
            }
            Err(error) => return (deltas, Err(error)),
        }
    }
    panic!("the stream just ended: {deltas:?}")
}

#[tokio::test]
async fn a_call_carries_key_and_version_and_streams_the_reply() {
    for path in ["", "/", "/v1", "/v1/"] {
        let server = FakeServer::start(vec![FakeAnswer::stream(&[
            START, BLOCK, HELLO, WORLD, END, STOP,
        ])])
        .await;
        let (deltas, text) = ask(&model(&format!("{}{path}", server.url)), false).await;
        assert_eq!(deltas, ["Hello", " world"]);
        assert_eq!(text.unwrap(), "Hello world");
        let (head, body) = server.calls().await.remove(0);
        assert!(head.starts_with("post /v1/messages http/1.1\r\n"), "{head}");
        assert!(head.contains("x-api-key: sk-ant-secret\r\n"), "{head}");
        assert!(head.contains("anthropic-version: 2023-06-01\r\n"), "{head}");
        assert_eq!(body["max_tokens"], json!(10));
    }
}

#[tokio::test]
async fn a_status_becomes_the_error_that_it_means() {
    let error = r#"{"type":"error","error":{"type":"x","message":"the key sk-ant-secret is bad"}}"#;
    let server = FakeServer::start(vec![
        FakeAnswer::status(429, "retry-after: 7\r\n", error),
        FakeAnswer::status(529, "retry-after: 3\r\n", error),
        FakeAnswer::status(401, "", error),
        FakeAnswer::status(302, "location: http://127.0.0.1:9/\r\n", ""),
        FakeAnswer::status(200, "content-type: text/html\r\n", "<html></html>"),
        FakeAnswer::status(200, "content-type: application/json\r\n", error),
        FakeAnswer::stream(&[START, BLOCK]),
        FakeAnswer::stream(&[START, BLOCK]).cut(),
    ])
    .await;
    let http = reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none());
    let model = Anthropic {
        http: http.build().unwrap(),
        ..model(&server.url)
    };
    let mut errors = Vec::new();
    for _ in 0..8 {
        errors.push(ask(&model, false).await.1.unwrap_err());
    }
    let seconds = |error: &ModelError| error.retry_after().map(|wait| wait.as_secs());
    assert!(matches!(&errors[0], ModelError::RateLimited { .. }));
    assert_eq!(seconds(&errors[0]), Some(7));
    assert!(matches!(&errors[1], ModelError::Unavailable { .. }));
    assert_eq!(seconds(&errors[1]), Some(3));
    assert!(
        matches!(&errors[2], ModelError::Refused { status: 401, message } if message == "the key [redacted] is bad")
    );
    assert!(matches!(
        &errors[3],
        ModelError::Refused { status: 302, .. }
    ));
    assert!(matches!(&errors[4], ModelError::Protocol(_)));
    assert!(matches!(&errors[5], ModelError::Unavailable { .. }));
    assert!(matches!(&errors[6], ModelError::BrokenStream));
    assert!(matches!(&errors[7], ModelError::Transport(_)));
}

#[tokio::test]
async fn a_busy_provider_and_a_cut_stream_are_asked_again_and_nothing_shows_twice() {
    let server = FakeServer::start(vec![
        FakeAnswer::status(529, "", ""),
        FakeAnswer::stream(&[START, BLOCK, HELLO]).cut(),
        FakeAnswer::stream(&[START, BLOCK, HELLO, WORLD, END, STOP]),
    ])
    .await;
    let (deltas, text) = ask(&model(&server.url), true).await;
    assert_eq!(deltas, ["Hello", " world"]);
    assert_eq!(text.unwrap(), "Hello world");
    assert_eq!(server.calls().await.len(), 3);
}

#[tokio::test]
async fn nobody_there_may_pass_but_a_base_url_that_is_none_will_not() {
    let nobody = ask(&model("http://127.0.0.1:1"), false)
        .await
        .1
        .unwrap_err();
    assert!(matches!(nobody, ModelError::Transport(_)) && nobody.is_retryable());
    let no_url = ask(&model("nonsense"), false).await.1.unwrap_err();
    assert!(matches!(no_url, ModelError::Transport(_)) && !no_url.is_retryable());
}
