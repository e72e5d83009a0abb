//! Tests of replies of the Messages API.

use std::sync::Arc;

use shared::message::Tokens;

use super::*;
use crate::ToolSpec;
use crate::replay::{replay_broken, replay_samples, replay_whole};

const START: &str = r#"{"type":"message_start","message":{"id":"m","role":"assistant","content":[],"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":3000,"output_tokens":1}}}"#;
const STOP: &str = r#"{"type":"message_stop"}"#;

fn reply() -> AnthropicReply {
    let spec = ToolSpec {
        name: "files.read".into(),
        description: String::new(),
        input_schema: Value::Null,
    };
    AnthropicReply::new(ToolNames::of(&[Arc::new(spec)]), "anthropic/x".into(), &[])
}

fn block_start(index: u64, block: &str) -> String {
    format!(r#"{{"type":"content_block_start","index":{index},"content_block":{block}}}"#)
}

fn delta(index: u64, delta: &str) -> String {
    format!(r#"{{"type":"content_block_delta","index":{index},"delta":{delta}}}"#)
}

fn block_stop(index: u64) -> String {
    format!(r#"{{"type":"content_block_stop","index":{index}}}"#)
}

fn message_delta(stop_reason: &str) -> String {
    format!(
        r#"{{"type":"message_delta","delta":{{"stop_reason":"{stop_reason}","stop_sequence":null}},"usage":{{"output_tokens":77}}}}"#
    )
}

fn tool_use(index: u64, json: &str) -> [String; 2] {
    let block =
        format!(r#"{{"type":"tool_use","id":"t{index}","name":"files_read","input":{{}}}}"#);
    let json = Value::from(json);
    let fragment = format!(r#"{{"type":"input_json_delta","partial_json":{json}}}"#);
    [block_start(index, &block), delta(index, &fragment)]
}

/// Returns the events of a complete reply with this stop reason.
fn reply_of(events: &[String], stop_reason: &str) -> Vec<String> {
    let end = [message_delta(stop_reason), STOP.to_owned()];
    [START.to_owned()]
        .into_iter()
        .chain(events.iter().cloned())
        .chain(end)
        .collect()
}

fn lines(events: &[String]) -> Vec<&str> {
    events.iter().map(String::as_str).collect()
}

#[tokio::test]
async fn a_reply_with_thoughts_text_and_calls_arrives_in_order() {
    let events = [
        block_start(0, r#"{"type":"thinking","thinking":"","signature":""}"#),
        r#"{"type":"ping"}"#.into(),
        delta(0, r#"{"type":"thinking_delta","thinking":"Let me "}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"see."}"#),
        delta(0, r#"{"type":"signature_delta","signature":"c2ln"}"#),
        block_stop(0),
        block_start(1, r#"{"type":"redacted_thinking","data":"cmVk"}"#),
        block_stop(1),
        block_start(2, r#"{"type":"text","text":""}"#),
        delta(2, r#"{"type":"text_delta","text":"Größe"}"#),
        delta(2, r#"{"type":"text_delta","text":""}"#),
        delta(2, r#"{"type":"citations_delta","citation":{}}"#),
        delta(2, r#"{"type":"text_delta","text":" 🙂"}"#),
        block_stop(2),
        block_start(
            3,
            r#"{"type":"tool_use","id":"toolu_1","name":"files_read","input":{}}"#,
        ),
        delta(3, r#"{"type":"input_json_delta","partial_json":""}"#),
        delta(
            3,
            r#"{"type":"input_json_delta","partial_json":"{\"path\": \"a"}"#,
        ),
        delta(3, r#"{"type":"input_json_delta","partial_json":".txt\"}"}"#),
        block_stop(3),
        block_start(
            4,
            r#"{"type":"tool_use","id":"toolu_2","name":"other","input":{}}"#,
        ),
        block_stop(4),
        block_start(
            5,
            r#"{"type":"server_tool_use","id":"s","name":"web_search","input":{}}"#,
        ),
        delta(5, r#"{"type":"input_json_delta","partial_json":"{}"}"#),
        block_stop(5),
        r#"{"type":"an_event_of_the_future","x":1}"#.into(),
    ];
    let events = reply_of(&events, "tool_use");
    let (deltas, message) = replay_whole(reply, &lines(&events)).await;
    assert_eq!(deltas, ["(Let me )", "(see.)", "Größe", " 🙂"]);
    let expected = json!({
        "content": [
            {
                "type": "reasoning",
                "text": "Let me see.",
                "provider": { "type": "thinking", "thinking": "Let me see.", "signature": "c2ln" },
            },
            {
                "type": "reasoning",
                "text": "",
                "provider": { "type": "redacted_thinking", "data": "cmVk" },
            },
            { "type": "text", "text": "Größe 🙂" },
            {
                "type": "tool_call",
                "call_id": "toolu_1",
                "tool": "files.read",
                "input": { "path": "a.txt" },
            },
            { "type": "tool_call", "call_id": "toolu_2", "tool": "other", "input": {} },
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 3210,
            "output_tokens": 77,
            "cache_read_tokens": 3000,
            "cache_write_tokens": 200,
            "reasoning_tokens": 0,
        },
        "model": "anthropic/x",
    });
    assert_eq!(serde_json::to_value(message).unwrap(), expected);
}

#[tokio::test]
async fn usage_that_a_proxy_tells_only_at_the_end_counts() {
    let events = [
        r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":0,"cache_read_input_tokens":null}}}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":9,"output_tokens":5}}"#,
        STOP,
    ];
    let (_, message) = replay_whole(reply, &events).await;
    let expected = Tokens {
        input_tokens: 9,
        output_tokens: 5,
        ..Tokens::default()
    };
    assert_eq!(message.usage, expected);
}

#[tokio::test]
async fn every_reason_to_stop_has_a_name_of_ours() {
    for (reason, expected) in [
        ("end_turn", StopReason::EndTurn),
        ("stop_sequence", StopReason::EndTurn),
        ("tool_use", StopReason::ToolUse),
        ("max_tokens", StopReason::MaxTokens),
        ("model_context_window_exceeded", StopReason::ContextFull),
        ("refusal", StopReason::Refusal),
        ("pause_turn", StopReason::Paused),
        ("new_one", StopReason::Other),
    ] {
        let (_, message) = replay_whole(reply, &lines(&reply_of(&[], reason))).await;
        assert_eq!(message.stop_reason, expected, "{reason}");
    }
}

#[tokio::test]
async fn a_call_that_cannot_be_read_says_why() {
    for (json, reason, expected) in [
        (r#"{"path":"a"#, "max_tokens", "cut at its token limit"),
        ("", "max_tokens", "cut at its token limit"),
        (
            "",
            "model_context_window_exceeded",
            "cut at its token limit",
        ),
        (r#"{"path":"a"#, "tool_use", "not JSON"),
        (r#"["a"]"#, "tool_use", "not a JSON object"),
    ] {
        let events = [tool_use(0, ""), tool_use(1, json)].concat();
        let (_, message) = replay_whole(reply, &lines(&reply_of(&events, reason))).await;
        let calls: Vec<&ToolCall> = message.tool_calls().collect();
        assert_eq!(calls[0].malformed, None);
        assert_eq!(calls[1].input, json!({}));
        let malformed = calls[1].malformed.as_deref().unwrap();
        assert!(malformed.contains(expected), "{malformed}");
    }
}

#[tokio::test]
async fn a_thought_that_was_cut_is_not_handed_back() {
    let events = [
        block_start(0, r#"{"type":"thinking","thinking":""}"#),
        delta(0, r#"{"type":"thinking_delta","thinking":"hm"}"#),
    ];
    let (_, message) = replay_whole(reply, &lines(&reply_of(&events, "max_tokens"))).await;
    assert_eq!(
        message.content,
        [Block::Reasoning {
            text: "hm".into(),
            provider: None
        }]
    );
}

#[tokio::test]
async fn an_error_in_mid_stream_is_sorted() {
    let error = |kind: &str| {
        format!(r#"{{"type":"error","error":{{"type":"{kind}","message":"with the-api-key"}}}}"#)
    };
    let overloaded = replay_broken(reply(), &[START, &error("overloaded_error")]).await;
    assert!(
        matches!(&overloaded, ModelError::Unavailable { message, .. } if message == "with [redacted]")
    );
    let limited = replay_broken(reply(), &[START, &error("rate_limit_error")]).await;
    assert!(matches!(limited, ModelError::RateLimited { .. }));
    let refused = replay_broken(reply(), &[START, &error("invalid_request_error")]).await;
    assert!(matches!(refused, ModelError::Refused { status: 400, .. }));
}

#[tokio::test]
async fn a_stream_without_its_end_is_broken_and_nonsense_is_not_read() {
    let cut = replay_broken(reply(), &[START, &message_delta("end_turn")]).await;
    assert!(matches!(cut, ModelError::BrokenStream));
    for nonsense in ["{", "[]", &delta(7, r#"{"type":"text_delta","text":"x"}"#)] {
        let error = replay_broken(reply(), &[START, nonsense]).await;
        assert!(matches!(error, ModelError::Protocol(_)), "{nonsense}");
    }
}

#[tokio::test]
async fn recorded_streams_are_heard_as_they_were_meant() {
    assert_eq!(replay_samples(reply, "src/anthropic/samples").await, 14);
}
