//! Tests of replies of Chat Completions.

use std::sync::Arc;

use serde_json::json;

use super::*;
use crate::ToolSpec;
use crate::replay::{replay_broken, replay_samples, replay_whole};

fn reply_after(messages: &[ModelMessage]) -> ChatReply {
    let spec = ToolSpec {
        name: "files.read".into(),
        description: String::new(),
        input_schema: Value::Null,
    };
    ChatReply::new(
        ToolNames::of(&[Arc::new(spec)]),
        "openai/x".into(),
        messages,
    )
}

fn reply() -> ChatReply {
    reply_after(&[])
}

fn delta(delta: &str) -> String {
    format!(
        r#"{{"id":"x","choices":[{{"index":0,"delta":{delta},"finish_reason":null}}],"usage":null}}"#
    )
}

fn finish(reason: &str) -> String {
    format!(r#"{{"choices":[{{"index":0,"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
}

/// Replays deltas and an end with this finish reason.
async fn replayed(deltas: &[&str], reason: &str) -> (Vec<String>, AssistantMessage) {
    let mut lines: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    lines.extend([finish(reason), "[DONE]".to_owned()]);
    replay_whole(reply, &lines.iter().map(String::as_str).collect::<Vec<_>>()).await
}

fn calls(message: &AssistantMessage) -> Vec<(&str, &str, String)> {
    let calls = message.tool_calls();
    calls
        .map(|call| {
            (
                call.call_id.as_str(),
                call.tool.as_str(),
                call.input.to_string(),
            )
        })
        .collect()
}

#[tokio::test]
async fn a_reply_with_thought_text_and_parallel_calls_arrives_in_order() {
    let lines = [
        delta(r#"{"role":"assistant","content":"","refusal":null}"#),
        delta(r#"{"reasoning_content":"Hm","content":null}"#),
        delta(r#"{"reasoning_content":"m."}"#),
        delta(r#"{"content":"Grö"}"#),
        delta(r#"{"content":"ße 🙂"}"#),
        delta(r#"{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"files_read","arguments":""}}]}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"path\":"}}]}"#),
        delta(r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"other","arguments":"{}"}}]}"#),
        delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"\"a\"}"}}]}"#),
        finish("tool_calls"),
        r#"{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":20,"total_tokens":120,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":12}}}"#.into(),
        "[DONE]".into(),
    ];
    let (deltas, message) = replay_whole(reply, &lines.each_ref().map(String::as_str)).await;
    assert_eq!(deltas, ["(Hm)", "(m.)", "Grö", "ße 🙂"]);
    let expected = json!({
        "content": [
            { "type": "reasoning", "text": "Hmm.", "provider": { "reasoning_content": "Hmm." } },
            { "type": "text", "text": "Größe 🙂" },
            { "type": "tool_call", "call_id": "c1", "tool": "files.read", "input": { "path": "a" } },
            { "type": "tool_call", "call_id": "c2", "tool": "other", "input": {} },
        ],
        "stop_reason": "tool_use",
        "usage": {
            "input_tokens": 100,
            "output_tokens": 20,
            "cache_read_tokens": 64,
            "cache_write_tokens": 0,
            "reasoning_tokens": 12,
        },
        "model": "openai/x",
    });
    assert_eq!(serde_json::to_value(message).unwrap(), expected);
}

#[tokio::test]
async fn calls_are_told_apart_however_a_server_numbers_them() {
    let cases: [(&str, &[&str]); 7] = [
        (
            "whole, one chunk, no index",
            &[
                r#"{"tool_calls":[{"id":"c1","function":{"name":"a","arguments":"{\"x\":1}"}},{"id":"c2","function":{"name":"b","arguments":"{\"x\":2}"}}]}"#,
            ],
        ),
        (
            "fragments without index",
            &[
                r#"{"tool_calls":[{"id":"c1","function":{"name":"a","arguments":"{\"x\""}}]}"#,
                r#"{"tool_calls":[{"function":{"arguments":":1}"}}]}"#,
                r#"{"tool_calls":[{"id":"c2","function":{"name":"b","arguments":"{\"x\":"}}]}"#,
                r#"{"tool_calls":[{"id":"c2","function":{"arguments":"2}"}}]}"#,
            ],
        ),
        (
            "every call is number 0",
            &[
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\":1}"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"c2","function":{"name":"b","arguments":"{\"x\":2}"}}]}"#,
            ],
        ),
        (
            "the name is repeated, arguments are null at first",
            &[
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":null}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{\"x\":"}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"1}"}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"b","arguments":"{\"x\":2}"}}]}"#,
            ],
        ),
        (
            "a new id in each chunk",
            &[
                r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":""}}]}"#,
                r#"{"tool_calls":[{"index":0,"id":"zz","function":{"arguments":"{\"x\":1}"}}]}"#,
                r#"{"tool_calls":[{"index":1,"id":"c2","function":{"name":"b","arguments":"{\"x\":2}"}}]}"#,
            ],
        ),
        (
            "the name comes in pieces",
            &[
                r#"{"tool_calls":[{"index":3,"id":"c1","function":{"name":"","arguments":""}}]}"#,
                r#"{"tool_calls":[{"index":3,"function":{"name":"a","arguments":"{\"x\":1}"}}]}"#,
                r#"{"tool_calls":[{"index":4,"id":"c2","function":{"name":"b"}},{"index":4,"function":{"arguments":"{\"x\":2}"}}]}"#,
            ],
        ),
        (
            "the arguments are an object",
            &[
                r#"{"tool_calls":[{"id":"c1","function":{"name":"a","arguments":{"x":1}}}]}"#,
                r#"{"tool_calls":[{"id":"c2","function":{"name":"b","arguments":{"x":2}}}]}"#,
            ],
        ),
    ];
    let expected = [
        ("c1", "a", r#"{"x":1}"#.into()),
        ("c2", "b", r#"{"x":2}"#.into()),
    ];
    for (how, deltas) in cases {
        let (_, message) = replayed(deltas, "tool_calls").await;
        assert_eq!(calls(&message), expected, "{how}");
    }
}

#[tokio::test]
async fn a_call_without_an_id_or_with_a_used_one_gets_one_of_its_own() {
    let deltas = [
        r#"{"tool_calls":[{"index":0,"id":"","function":{"name":"a","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":0,"function":{"name":"a","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":1,"id":"used","function":{"name":"b","arguments":"{}"}}]}"#,
        r#"{"tool_calls":[{"index":2,"id":"fresh","function":{"name":"c","arguments":"{}"}}]}"#,
    ];
    let used =
        r#"{"tool_calls":[{"id":"used","function":{"name":"a"}},{"function":{"name":"a"}}]}"#;
    let (_, before) = replayed(&[used], "stop").await;
    assert_eq!(
        calls(&before).iter().map(|call| call.0).collect::<Vec<_>>(),
        ["used", "call_0_1"]
    );
    let messages = [
        ModelMessage::User(Vec::new()),
        ModelMessage::Assistant(before),
    ];
    let lines: Vec<String> = deltas.iter().map(|text| delta(text)).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).chain(["[DONE]"]).collect();
    let (_, message) = replay_whole(|| reply_after(&messages), &lines).await;
    let ids: Vec<&str> = calls(&message).iter().map(|call| call.0).collect();
    assert_eq!(ids, ["call_2_0", "call_2_1", "call_2_2", "fresh"]);
    assert_eq!(message.stop_reason, StopReason::ToolUse);
}

#[tokio::test]
async fn what_is_of_another_type_than_expected_costs_no_reply() {
    let deltas = [
        r#"{"content":"a","refusal":false,"reasoning":{"effort":"low"},"reasoning_details":{}}"#,
        r#"{"tool_calls":[{"index":"0","id":7,"type":"function","function":{"name":"a","arguments":"{}"}}]}"#,
        r#"{"content":null,"tool_calls":null,"function_call":null}"#,
    ];
    let mut lines = deltas.map(delta).to_vec();
    lines.push(r#"{"choices":[{"delta":null,"finish_reason":"tool_calls"}],"usage":[]}"#.into());
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    let (shown, message) = replay_whole(reply, &lines).await;
    assert_eq!(shown, ["a"]);
    assert_eq!(calls(&message), [("call_0_0", "a", "{}".into())]);
}

#[tokio::test]
async fn the_predecessor_of_tool_calls_is_understood() {
    let deltas = [
        r#"{"function_call":{"name":"files_read","arguments":"{\"path\""}}"#,
        r#"{"function_call":{"arguments":":\"a\"}"}}"#,
    ];
    let (_, message) = replayed(&deltas, "function_call").await;
    assert_eq!(
        calls(&message),
        [("call_0_0", "files.read", r#"{"path":"a"}"#.into())]
    );
}

#[tokio::test]
async fn a_call_that_cannot_be_read_says_why() {
    for (arguments, reason, expected) in [
        (r#"{\"path\":"#, "length", "cut at its token limit"),
        ("", "length", "cut at its token limit"),
        (r#"{\"path\":"#, "tool_calls", "not JSON"),
        ("[1]", "tool_calls", "not a JSON object"),
    ] {
        let piece = format!(
            r#"{{"tool_calls":[{{"index":0,"function":{{"name":"a","arguments":"{arguments}"}}}}]}}"#
        );
        let (_, message) = replayed(&[&piece], reason).await;
        let call = message.tool_calls().next().unwrap();
        assert_eq!(call.input, json!({}));
        let malformed = call.malformed.as_deref().unwrap();
        assert!(malformed.contains(expected), "{malformed}");
    }
    let (_, message) = replayed(&[r#"{"tool_calls":[{"function":{"name":"a"}}]}"#], "stop").await;
    assert_eq!(message.tool_calls().next().unwrap().malformed, None);
}

#[tokio::test]
async fn every_reason_to_stop_has_a_name_of_ours() {
    let call = r#"{"tool_calls":[{"function":{"name":"a"}}]}"#;
    for (piece, reason, expected) in [
        (r#"{"content":"a"}"#, "stop", StopReason::EndTurn),
        (r#"{"content":"a"}"#, "length", StopReason::MaxTokens),
        (r#"{"content":"a"}"#, "content_filter", StopReason::Refusal),
        (r#"{"refusal":"No."}"#, "stop", StopReason::Refusal),
        (r#"{"content":"a"}"#, "new_one", StopReason::Other),
        (call, "tool_calls", StopReason::ToolUse),
        (call, "function_call", StopReason::ToolUse),
        (call, "stop", StopReason::ToolUse),
        (call, "", StopReason::ToolUse),
    ] {
        let (_, message) = replayed(&[piece], reason).await;
        assert_eq!(message.stop_reason, expected, "{piece} {reason}");
    }
}

#[tokio::test]
async fn thoughts_are_found_in_every_field() {
    let (deltas, message) = replayed(
        &[
            r#"{"reasoning":"a","reasoning_details":[{"type":"reasoning.text","text":"a","index":0,"signature":null}]}"#,
            r#"{"reasoning":"b","reasoning_details":[{"type":"reasoning.text","text":"b","index":0},{"type":"reasoning.text","signature":"sig","index":0}]}"#,
            r#"{"reasoning_details":[{"type":"reasoning.encrypted","data":"x"}]}"#,
            r#"{"content":"c"}"#,
        ],
        "stop",
    )
    .await;
    assert_eq!(deltas, ["(a)", "(b)", "c"]);
    let provider = json!({ "reasoning_details": [
        { "type": "reasoning.text", "text": "ab", "index": 0, "signature": "sig" },
        { "type": "reasoning.encrypted", "data": "x" },
    ] });
    assert_eq!(
        message.content[0],
        Block::Reasoning {
            text: "ab".into(),
            provider: Some(provider)
        }
    );

    let both = r#"{"reasoning":"a","reasoning_content":"a"}"#;
    assert_eq!(replayed(&[both], "stop").await.0, ["(a)"]);

    let parts = r#"{"content":[{"type":"thinking","thinking":[{"type":"text","text":"a"}]},{"type":"text","text":"b"}]}"#;
    assert_eq!(replayed(&[parts], "stop").await.0, ["(a)", "b"]);
}

#[tokio::test]
async fn the_signature_of_a_call_is_kept_in_a_thought_of_its_own() {
    let call = r#"{"tool_calls":[{"index":0,"id":"c1","function":{"name":"a","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}]}"#;
    let (_, message) = replayed(&[call], "tool_calls").await;
    let provider = json!({ "extra_content": { "c1": { "google": { "thought_signature": "s" } } } });
    assert_eq!(
        message.content[0],
        Block::Reasoning {
            text: String::new(),
            provider: Some(provider)
        }
    );
    assert_eq!(message.content.len(), 2);
}

#[tokio::test]
async fn usage_is_read_from_every_shape() {
    for (usage, input, output, cached) in [
        (r#"{"prompt_tokens":9,"completion_tokens":5}"#, 9, 5, 0),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"total_tokens":34,"prompt_tokens_details":null}"#,
            9,
            25,
            0,
        ),
        (
            r#"{"prompt_tokens":9,"completion_tokens":5,"prompt_cache_hit_tokens":4}"#,
            9,
            5,
            4,
        ),
    ] {
        let last =
            format!(r#"{{"choices":[{{"delta":{{}},"finish_reason":"stop"}}],"usage":{usage}}}"#);
        let (_, message) = replay_whole(reply, &[&last]).await;
        let tokens = message.usage;
        let read = (
            tokens.input_tokens,
            tokens.output_tokens,
            tokens.cache_read_tokens,
        );
        assert_eq!(read, (input, output, cached));
    }
    assert_eq!(replayed(&[], "stop").await.1.usage, Tokens::default());
}

#[tokio::test]
async fn a_stream_is_whole_with_a_reason_or_done_and_broken_with_neither() {
    let text = delta(r#"{"content":"a"}"#);
    for end in [finish("stop"), "[DONE]".to_owned()] {
        let (_, message) = replay_whole(reply, &[&text, &end]).await;
        assert_eq!(
            (message.text().as_str(), message.stop_reason),
            ("a", StopReason::EndTurn)
        );
    }
    assert!(matches!(
        replay_broken(reply(), &[&text]).await,
        ModelError::BrokenStream
    ));
    assert!(matches!(
        replay_broken(reply(), &["[DONE]"]).await,
        ModelError::BrokenStream
    ));
    assert!(matches!(
        replay_broken(reply(), &[&text, "{"]).await,
        ModelError::Protocol(_)
    ));
}

#[tokio::test]
async fn an_error_in_mid_stream_is_sorted() {
    let text = delta(r#"{"content":"a"}"#);
    for (error, expected) in [
        (
            r#"{"error":{"message":"busy the-api-key","type":"server_error","code":null}}"#,
            "failing: busy [redacted]",
        ),
        (
            r#"{"error":{"message":"slow","code":429},"choices":[{"delta":{},"finish_reason":"error"}]}"#,
            "rate of requests",
        ),
        (
            r#"{"object":"error","message":"too long","type":"BadRequestError","code":400}"#,
            "status 400: too long",
        ),
        (
            r#"{"error":"llama runner died"}"#,
            "failing: llama runner died",
        ),
    ] {
        let message = replay_broken(reply(), &[&text, error]).await.to_string();
        assert!(message.contains(expected), "{message}");
    }
}

#[tokio::test]
async fn recorded_streams_are_heard_as_they_were_meant() {
    assert_eq!(replay_samples(reply, "src/openai/samples").await, 20);
}
