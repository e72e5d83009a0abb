//! Tests of requests to Chat Completions.

use std::sync::Arc;

use bytes::Bytes;
use shared::message::{Block, StopReason, Tokens};
use shared::provider::{Provider, ProviderKind};

use super::*;

fn said(content: Vec<Block>) -> ModelMessage {
    ModelMessage::Assistant(AssistantMessage {
        content,
        stop_reason: StopReason::EndTurn,
        usage: Tokens::default(),
        model: "openai/x".into(),
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

fn call(id: &str, tool: &str, input: Value) -> Block {
    let (call_id, tool) = (id.into(), tool.into());
    Block::ToolCall(ToolCall {
        call_id,
        tool,
        input,
        malformed: None,
    })
}

fn reasoning(provider: Value) -> Block {
    Block::Reasoning {
        text: "hm".into(),
        provider: Some(provider),
    }
}

fn rendered(system: &str, tools: &[Arc<ToolSpec>], messages: &[ModelMessage]) -> Value {
    let request = ModelRequest {
        system,
        tools,
        messages,
        max_tokens: 4096,
        output_schema: None,
    };
    render_for(&request, dialect())
}

fn render_for(request: &ModelRequest<'_>, dialect: Dialect) -> Value {
    let to = RenderContext {
        model_id: "gpt-x",
        name: "openai/x",
        names: &ToolNames::of(request.tools),
        takes: dialect.takes,
    };
    render(request, &to, dialect)
}

fn dialect() -> Dialect {
    let base_url = "http://localhost/v1".into();
    Dialect::of(&Provider::new(ProviderKind::Openai, base_url, None))
}

#[test]
fn a_transcript_is_rendered_with_each_result_right_after_its_calls() {
    let tools = [Arc::new(ToolSpec {
        name: "files.read".into(),
        description: "Reads.".into(),
        input_schema: json!({ "type": "object" }),
    })];
    let messages = [
        ModelMessage::User(vec![text("look"), file("a.png", "image/png")]),
        said(vec![
            Block::Text {
                text: "I look.".into(),
            },
            call("c1", "files.read", json!({ "path": "a" })),
            call("c2", "no such", json!({})),
        ]),
        ModelMessage::User(vec![
            text("and then?"),
            text("say!"),
            result("c1", "abc", false),
            result("c2", "unknown tool", true),
            result("c3", "ERROR: x", true),
        ]),
        said(vec![Block::Text {
            text: String::new(),
        }]),
        said(vec![call("c4", "files.read", json!({}))]),
    ];
    let expected = json!({
        "model": "gpt-x",
        "stream": true,
        "messages": [
            { "role": "system", "content": "Be brief." },
            { "role": "user", "content": [
                { "type": "text", "text": "look" },
                { "type": "image_url", "image_url": { "url": "data:image/png;base64,YWJj" } },
            ] },
            { "role": "assistant", "content": "I look.", "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": { "name": "files_read", "arguments": r#"{"path":"a"}"# },
                },
                {
                    "id": "c2",
                    "type": "function",
                    "function": { "name": "no_such", "arguments": "{}" },
                },
            ] },
            { "role": "tool", "tool_call_id": "c1", "content": "abc" },
            { "role": "tool", "tool_call_id": "c2", "content": "Error: unknown tool" },
            { "role": "tool", "tool_call_id": "c3", "content": "ERROR: x" },
            { "role": "user", "content": "and then?\n\nsay!" },
            { "role": "assistant", "content": null, "tool_calls": [{
                "id": "c4",
                "type": "function",
                "function": { "name": "files_read", "arguments": "{}" },
            }] },
        ],
        "tools": [{
            "type": "function",
            "function": {
                "name": "files_read",
                "description": "Reads.",
                "parameters": { "type": "object" },
            },
        }],
        "max_tokens": 4096,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(rendered("Be brief.", &tools, &messages), expected);
}

#[test]
fn without_tools_or_system_prompt_there_is_no_empty_field() {
    let body = rendered("", &[], &[ModelMessage::User(vec![text("a")])]);
    let expected = json!({
        "model": "gpt-x",
        "stream": true,
        "messages": [{ "role": "user", "content": "a" }],
        "max_tokens": 4096,
        "stream_options": { "include_usage": true },
    });
    assert_eq!(body, expected);
}

#[test]
fn thoughts_go_back_where_they_came_from() {
    let details = json!([{ "type": "reasoning.encrypted", "data": "x" }]);
    let messages = [said(vec![
        reasoning(json!({ "reasoning_content": "hm", "extra_content": { "c1": { "google": 1 } } })),
        reasoning(json!({ "reasoning_details": details })),
        reasoning(json!({ "type": "thinking", "thinking": "hm", "signature": "of another" })),
        call("c1", "a", json!({})),
        call("c2", "a", json!({})),
    ])];
    let tool_call = |id| json!({ "id": id, "type": "function", "function": { "name": "a", "arguments": "{}" } });
    let mut signed = tool_call("c1");
    signed["extra_content"] = json!({ "google": 1 });
    let expected = json!([{
        "role": "assistant",
        "content": null,
        "tool_calls": [signed, tool_call("c2")],
        "reasoning_content": "hm",
        "reasoning_details": details,
    }]);
    assert_eq!(rendered("", &[], &messages)["messages"], expected);
}

#[test]
fn a_file_is_shown_if_the_api_takes_it_and_named_if_not() {
    let data_url = "data:application/pdf;base64,YWJj";
    let takes = dialect().takes;
    for (name, content_type, expected) in [
        (
            "a.jpg",
            "image/jpg",
            json!({ "type": "image_url", "image_url": { "url": "data:image/jpeg;base64,YWJj" } }),
        ),
        (
            "a.pdf",
            "application/pdf",
            json!({ "type": "file", "file": { "filename": "a.pdf", "file_data": data_url } }),
        ),
        (
            "a.wav",
            "audio/x-wav",
            json!({ "type": "input_audio", "input_audio": { "data": "YWJj", "format": "wav" } }),
        ),
        (
            "a.mp3",
            "audio/mpeg",
            json!({ "type": "input_audio", "input_audio": { "data": "YWJj", "format": "mp3" } }),
        ),
    ] {
        let expected = json!({ "role": "user", "content": [expected] });
        assert_eq!(user(&[&file(name, content_type)], takes), Some(expected));
    }
    let named =
        json!({ "role": "user", "content": "[file in/a.ogg (audio/ogg) is in the workspace]" });
    assert_eq!(user(&[&file("in/a.ogg", "audio/ogg")], takes), Some(named));
}

#[test]
fn an_image_of_a_result_follows_the_results_in_the_message_of_the_user() {
    let Part::Media(image) = file("a.png", "image/png") else {
        panic!("a file is media");
    };
    let mut shown = result("c1", "one page", false);
    if let Part::ToolResult(result) = &mut shown {
        result.images.push(image);
    }
    let messages = [
        ModelMessage::User(vec![text("go")]),
        said(vec![
            call("c1", "files.read", json!({})),
            call("c2", "files.read", json!({})),
        ]),
        ModelMessage::User(vec![shown, result("c2", "more", false), text("Note.")]),
    ];
    let body = rendered("", &[], &messages);
    let expected = json!([
        { "role": "tool", "tool_call_id": "c1", "content": "one page" },
        { "role": "tool", "tool_call_id": "c2", "content": "more" },
        { "role": "user", "content": [
            { "type": "text", "text": "[Image of the tool result above: a.png]" },
            { "type": "image_url", "image_url": { "url": "data:image/png;base64,YWJj" } },
            { "type": "text", "text": "Note." },
        ] },
    ]);
    assert_eq!(
        body["messages"].as_array().unwrap()[2..],
        expected.as_array().unwrap()[..]
    );
}
