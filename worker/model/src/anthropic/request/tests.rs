//! Tests of requests to the Messages API.

use std::sync::Arc;

use bytes::Bytes;
use shared::message::{StopReason, Tokens, ToolCall};
use shared::provider::MediaKind;

use super::*;

fn said(content: Vec<Block>) -> ModelMessage {
    ModelMessage::Assistant(AssistantMessage {
        content,
        stop_reason: StopReason::EndTurn,
        usage: Tokens::default(),
        model: "anthropic/x".into(),
    })
}

fn text(text: &str) -> Part {
    Part::Text(text.into())
}

fn file(name: &str, content_type: &str) -> Part {
    let (name, content_type) = (name.into(), content_type.into());
    Part::Media(Media {
        name,
        content_type,
        data: Bytes::from_static(b"abc"),
        pixels: None,
    })
}

fn result(call_id: &str, text: &str, is_error: bool) -> Part {
    Part::ToolResult(ToolResult {
        call_id: call_id.into(),
        text: text.into(),
        is_error,
        images: Vec::new(),
    })
}

fn tools() -> Vec<Arc<ToolSpec>> {
    vec![Arc::new(ToolSpec {
        name: "files.read".into(),
        description: "Reads.".into(),
        input_schema: json!({ "type": "object" }),
    })]
}

fn rendered(system: &str, tools: &[Arc<ToolSpec>], messages: &[ModelMessage]) -> Value {
    let request = ModelRequest {
        system,
        tools,
        messages,
        max_tokens: 4096,
        output_schema: None,
    };
    let to = RenderContext {
        model_id: "claude-x",
        name: "anthropic/x",
        names: &ToolNames::of(tools),
        takes: takes(),
    };
    render(&request, &to)
}

fn takes() -> AcceptedMedia {
    AcceptedMedia::of(&[MediaKind::Image, MediaKind::Pdf], None)
}

#[test]
fn a_transcript_is_rendered_in_order_with_its_thoughts_and_cache_markers() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "sig" });
    let redacted = json!({ "type": "redacted_thinking", "data": "xyz" });
    let reasoning = |provider: &Value| Block::Reasoning {
        text: String::new(),
        provider: Some(provider.clone()),
    };
    let call = |id: &str, tool: &str| {
        let (call_id, tool) = (id.into(), tool.into());
        Block::ToolCall(ToolCall {
            call_id,
            tool,
            input: json!({ "path": "a" }),
            malformed: None,
        })
    };
    let messages = [
        ModelMessage::User(vec![text("look"), file("a.png", "image/png; x=y")]),
        said(vec![
            reasoning(&thinking),
            reasoning(&redacted),
            Block::Text {
                text: String::new(),
            },
            Block::Text {
                text: "I look.".into(),
            },
            call("t1", "files.read"),
            call("t2", "no such tool"),
        ]),
        ModelMessage::User(vec![
            text("and then?"),
            result("t1", "abc", false),
            result("t2", "", true),
        ]),
    ];
    let ephemeral = json!({ "type": "ephemeral" });
    let expected = json!({
        "model": "claude-x",
        "max_tokens": 4096,
        "stream": true,
        "messages": [
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                {
                    "type": "image",
                    "source": { "type": "base64", "media_type": "image/png", "data": "YWJj" },
                    "cache_control": ephemeral,
                },
            ] },
            { "role": "assistant", "content": [
                thinking,
                redacted,
                { "type": "text", "text": "I look." },
                { "type": "tool_use", "id": "t1", "name": "files_read", "input": { "path": "a" } },
                { "type": "tool_use", "id": "t2", "name": "no_such_tool", "input": { "path": "a" } },
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": "abc" },
                { "type": "tool_result", "tool_use_id": "t2", "is_error": true },
                { "type": "text", "text": "and then?", "cache_control": ephemeral },
            ] },
        ],
        "system": [{ "type": "text", "text": "Be brief.", "cache_control": ephemeral }],
        "tools": [{
            "name": "files_read",
            "description": "Reads.",
            "input_schema": { "type": "object" },
            "cache_control": ephemeral,
        }],
    });
    assert_eq!(rendered("Be brief.", &tools(), &messages), expected);
}

#[test]
fn there_are_never_more_than_four_cache_markers() {
    let turns: Vec<ModelMessage> = (0..9)
        .flat_map(|_| {
            [
                ModelMessage::User(vec![text("go")]),
                said(vec![Block::Text { text: "on".into() }]),
            ]
        })
        .collect();
    let body = rendered(" ", &tools(), &turns);
    assert_eq!(body.get("system"), None);
    assert_eq!(
        body["tools"][0]["cache_control"],
        json!({ "type": "ephemeral" })
    );
    let marks = |body: &Value| body.to_string().matches("cache_control").count();
    assert_eq!(marks(&body), 3);
    assert_eq!(marks(&rendered("s", &tools(), &turns)), 4);
    assert_eq!(rendered("s", &[], &turns).get("tools"), None);
}

#[test]
fn what_the_api_refuses_is_not_sent() {
    let foreign = json!({ "reasoning_content": "hm" });
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "sig" });
    let reasoning = |provider| Block::Reasoning {
        text: "hm".into(),
        provider,
    };
    let messages = [
        ModelMessage::User(vec![text("a"), text(" \n")]),
        said(vec![
            Block::Text {
                text: String::new(),
            },
            reasoning(Some(thinking)),
        ]),
        ModelMessage::User(vec![text("")]),
        said(vec![
            reasoning(Some(foreign)),
            reasoning(None),
            Block::Text { text: "b".into() },
        ]),
    ];
    let body = rendered("", &[], &messages);
    let mark = json!({ "type": "ephemeral" });
    let expected = json!([
        { "role": "user", "content": [{ "type": "text", "text": "a", "cache_control": mark }] },
        { "role": "assistant", "content": [{ "type": "text", "text": "b" }] },
    ]);
    assert_eq!(body["messages"], expected);
}

#[test]
fn what_another_model_said_goes_without_its_thoughts_and_under_ids_that_fit() {
    let thinking = json!({ "type": "thinking", "thinking": "hm", "signature": "of another" });
    let call = ToolCall {
        call_id: "functions.read:0".into(),
        tool: "files.read".into(),
        input: json!({}),
        malformed: None,
    };
    let mut other = said(vec![
        Block::Reasoning {
            text: "hm".into(),
            provider: Some(thinking),
        },
        Block::ToolCall(call),
    ]);
    if let ModelMessage::Assistant(message) = &mut other {
        message.model = "groq/kimi".into();
    }
    let messages = [
        ModelMessage::User(vec![text("go")]),
        other,
        ModelMessage::User(vec![result("functions.read:0", "abc", false)]),
    ];
    let body = rendered("", &tools(), &messages);
    let expected = json!([
        { "type": "tool_use", "id": "call00001", "name": "files_read", "input": {} },
    ]);
    assert_eq!(body["messages"][1]["content"], expected);
    let answered = &body["messages"][2]["content"][0]["tool_use_id"];
    assert_eq!(answered, "call00001");
}

#[test]
fn a_file_is_shown_if_the_api_takes_it_and_named_if_not() {
    let source = |media_type| json!({ "type": "base64", "media_type": media_type, "data": "YWJj" });
    for (name, content_type, expected) in [
        (
            "a.jpg",
            "image/jpg",
            json!({ "type": "image", "source": source("image/jpeg") }),
        ),
        (
            "a.webp",
            "image/webp",
            json!({ "type": "image", "source": source("image/webp") }),
        ),
        (
            "a.pdf",
            "application/pdf",
            json!({ "type": "document", "source": source("application/pdf"), "title": "a.pdf" }),
        ),
        (
            "in/a.wav",
            "audio/wav",
            json!({ "type": "text", "text": "[file in/a.wav (audio/wav) is in the workspace]" }),
        ),
        (
            "a.svg",
            "image/svg+xml",
            json!({ "type": "text", "text": "[file a.svg (image/svg+xml) is in the workspace]" }),
        ),
    ] {
        let ids = WireIds::of(&[], "anthropic/x");
        assert_eq!(user(&[file(name, content_type)], &ids, takes()), [expected]);
    }
}

#[test]
fn an_image_of_a_result_is_in_the_result_and_one_that_is_not_taken_is_named() {
    let messages = looked();
    let body = rendered("", &tools(), &messages);
    let expected = json!([{
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            { "type": "text", "text": "one page" },
            {
                "type": "image",
                "source": { "type": "base64", "media_type": "image/png", "data": "YWJj" },
            },
        ],
        "cache_control": { "type": "ephemeral" },
    }]);
    assert_eq!(body["messages"][2]["content"], expected);
    let none = AcceptedMedia::of(&[], None);
    let ids = WireIds::of(&messages, "anthropic/x");
    let ModelMessage::User(parts) = &messages[2] else {
        panic!("the last message is ours");
    };
    let named = user(parts, &ids, none);
    let words =
        "[This model does not support images: a.png is not shown. Use its measured values.]";
    assert_eq!(
        named[0]["content"][1],
        json!({ "type": "text", "text": words })
    );
}

/// Returns a call whose result has an image.
fn looked() -> [ModelMessage; 3] {
    let Part::Media(image) = file("a.png", "image/png") else {
        panic!("a file is media");
    };
    let mut result = result("t1", "one page", false);
    if let Part::ToolResult(result) = &mut result {
        result.images.push(image);
    }
    [
        ModelMessage::User(vec![text("go")]),
        said(vec![Block::ToolCall(ToolCall {
            call_id: "t1".into(),
            tool: "files.read".into(),
            input: json!({}),
            malformed: None,
        })]),
        ModelMessage::User(vec![result]),
    ]
}
