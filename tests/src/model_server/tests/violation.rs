//! Requests that violate a rule.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::client::{AssembledReply, BOTH, CLIENT, ask, builder, first, post, request, user};
use crate::model_server::{ModelServer, Provider, Reply};

use Provider::{Anthropic, OpenAi};

/// A change to a valid request with two tool calls and their results.
type Change = fn(&mut Value);

const BOTH_FORMATS: [(&str, Change); 6] = [
    ("The request has the unknown field `temprature`.", |body| {
        body["temprature"] = json!(1);
    }),
    ("The request names no model.", |body| {
        body["model"] = json!(null);
    }),
    ("The request does not ask for a stream.", |body| {
        body["stream"] = json!(false);
    }),
    ("has the unknown field `mood`", |body| {
        body["messages"][1]["mood"] = json!("good");
    }),
    ("The last message is assistant's", |body| truncate(body, 2)),
    ("Two tools have the name \"execute_bash\".", |body| {
        let tool = body["tools"][0].clone();
        body["tools"].as_array_mut().unwrap().push(tool);
    }),
];

const ANTHROPIC: [(&str, Change); 24] = [
    (
        "max_tokens is 0 and should be a positive integer.",
        |body| body["max_tokens"] = json!(0),
    ),
    ("max_tokens is null", |body| {
        body["max_tokens"] = json!(null);
    }),
    ("The thinking budget 4096 is not between", |body| {
        body["thinking"] = json!({"type": "enabled", "budget_tokens": 4096});
    }),
    ("The tool name \"file.read\" does not match", |body| {
        body["tools"][0]["name"] = json!("file.read");
    }),
    ("is not that of an object", |body| {
        body["tools"][0]["input_schema"] = json!({});
    }),
    ("the request defines no tools", |body| {
        body["tools"] = json!([]);
    }),
    ("A system block has a blank text block.", |body| {
        body["system"] = json!([{"type": "text", "text": " "}]);
    }),
    ("More than 4 places are marked for the cache.", |body| {
        let block = json!({"type": "text", "text": "x", "cache_control": {"type": "ephemeral"}});
        body["system"] = json!([block, block, block, block, block]);
    }),
    (
        "Message 0 has the role \"assistant\" and should be user's.",
        |body| {
            body["messages"][0]["role"] = json!("assistant");
        },
    ),
    (
        "Message 3 has the role \"user\" and should be assistant's.",
        |body| {
            body["messages"].as_array_mut().unwrap().push(user("v"));
        },
    ),
    ("Message 0 (user) has an empty content.", |body| {
        body["messages"][0]["content"] = json!([]);
    }),
    ("Message 2 (user) has a blank text block.", |body| {
        push(body, json!({"type": "text", "text": "\n"}));
    }),
    (
        "Message 2 (user) cannot have a block of type \"tool_use\".",
        |body| {
            push(body, json!({"type": "tool_use"}));
        },
    ),
    ("Message 2 (user) leaves the call toolu_", |body| {
        body["messages"][2]["content"].as_array_mut().unwrap().pop();
    }),
    (
        "Message 2 (user) answers toolu_x, no call of the reply",
        |body| {
            push(
                body,
                json!({"type": "tool_result", "tool_use_id": "toolu_x", "content": "hi"}),
            );
        },
    ),
    ("twice.", |body| {
        let result = body["messages"][2]["content"][0].clone();
        push(body, result);
    }),
    ("in another order than they were made.", |body| {
        body["messages"][2]["content"]
            .as_array_mut()
            .unwrap()
            .reverse();
    }),
    ("has other blocks before its tool results.", |body| {
        let blocks = body["messages"][2]["content"].as_array_mut().unwrap();
        blocks.insert(0, json!({"type": "text", "text": "First this."}));
    }),
    ("calls the tool \"other\", which nobody knows.", |body| {
        body["messages"][1]["content"][1]["name"] = json!("other");
    }),
    ("whose input is \"{}\" and not an object.", |body| {
        body["messages"][1]["content"][1]["input"] = json!("{}");
    }),
    ("whose signature is not that of its thought.", |body| {
        body["messages"][1]["content"][0]["thinking"] = json!("Ha.");
    }),
    ("is not what the model replied", |body| {
        body["messages"][1]["content"]
            .as_array_mut()
            .unwrap()
            .remove(0);
    }),
    ("an error result that is not only text.", |body| {
        let result = &mut body["messages"][2]["content"][0];
        result["is_error"] = json!(true);
        result["content"] = json!([{"type": "image"}]);
    }),
    ("has the media type \"image/bmp\".", |body| {
        push(body, anthropic_image("image/bmp", PNG));
    }),
];

const OPENAI: [(&str, Change); 13] = [
    ("max_completion_tokens is -1", |body| {
        body["max_completion_tokens"] = json!(-1);
    }),
    ("both max_tokens and max_completion_tokens.", |body| {
        body["max_tokens"] = json!(1);
    }),
    ("The tool name \"\" does not match", |body| {
        body["tools"][0]["function"]["name"] = json!("");
    }),
    ("`tools` is an empty list", |body| body["tools"] = json!([])),
    ("Message 4 (system) should be the first.", |body| {
        let system = json!({"role": "system", "content": "Be good."});
        body["messages"].as_array_mut().unwrap().push(system);
    }),
    ("Message 0 has the role \"robot\".", |body| {
        body["messages"][0]["role"] = json!("robot");
    }),
    ("The end of the request leaves the call call_", |body| {
        truncate(body, 3);
    }),
    ("The end of the request answers call_x, no call", |body| {
        body["messages"][3]["tool_call_id"] = json!("call_x");
    }),
    ("twice.", |body| {
        let result = body["messages"][3].clone();
        body["messages"].as_array_mut().unwrap().push(result);
    }),
    ("in another order than they were made.", |body| {
        body["messages"].as_array_mut().unwrap().swap(2, 3);
    }),
    ("calls the tool \"other\", which nobody knows.", |body| {
        body["messages"][1]["tool_calls"][0]["function"]["name"] = json!("other");
    }),
    ("whose arguments are not a string.", |body| {
        body["messages"][1]["tool_calls"][0]["function"]["arguments"] = json!({});
    }),
    ("has neither content nor calls.", |body| {
        body["messages"][1] = json!({"role": "assistant", "content": null});
    }),
];

const PNG: &str = "iVBORw0KGgo=";

#[actix_web::test]
async fn each_fault_of_a_request_is_noticed() {
    let both = BOTH
        .iter()
        .flat_map(|provider| BOTH_FORMATS.map(|case| (*provider, case)));
    let anthropic = ANTHROPIC.into_iter().map(|case| (Anthropic, case));
    let openai = OPENAI.into_iter().map(|case| (OpenAi, case));
    let model = ModelServer::start();
    let call = json!({"command": "ls"});
    model.script_with("v", move |request| match request.turn() {
        0 => Reply::thinking("Hm.")
            .then_call("execute_bash", call.clone())
            .then_call("made_up", call.clone()),
        _ => Reply::text("Done."),
    });
    for (provider, (expected, change)) in both.chain(anthropic).chain(openai) {
        let reply = ask(&model, provider, &first(provider, "v")).await;
        let mut body = with_results(provider, &reply);
        ask(&model, provider, &body).await;
        let before = model.violations().len();
        change(&mut body);

        let response = post(&model, provider, &body).await;
        assert_eq!(response.status(), 400, "{expected}");
        let error: Value = response.json().await.unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        let violations = &model.violations()[before..];
        for text in [message, &violations.concat()] {
            assert!(
                text.contains(expected),
                "{provider:?}: {expected} is not in {text}"
            );
        }
    }
}

#[actix_web::test]
async fn the_headers_are_checked() {
    let model = ModelServer::start();
    model.script("v", []);
    for (provider, expected) in [
        (
            Anthropic,
            "The header anthropic-version is Some(\"2023-06-01, 2024\")",
        ),
        (OpenAi, "The header content-type is Some(\"text/plain\")"),
    ] {
        let request = match provider {
            Anthropic => builder(&model, provider).header("anthropic-version", "2024"),
            OpenAi => builder(&model, provider).header("content-type", "text/plain"),
        };
        let body = first(provider, "v").to_string();
        assert_eq!(request.body(body).send().await.unwrap().status(), 400);
        let violations = model.violations().concat();
        assert!(violations.contains(expected), "{violations}");
    }
    let url = format!("{}/messages", model.openai_base_url());
    CLIENT
        .post(url)
        .json(&first(Anthropic, "v"))
        .send()
        .await
        .unwrap();
    let violations = model.violations().concat();
    assert!(
        violations.contains("The header x-api-key is None"),
        "{violations}"
    );
}

#[actix_web::test]
async fn an_image_is_what_it_says() {
    for (media_type, data, is_good) in [
        ("image/png", PNG, true),
        ("image/jpeg", PNG, false),
        ("image/png", "iVBORw0KGgo", false),
        ("image/png", "", false),
        ("image/svg+xml", "PHN2Zz4=", false),
    ] {
        let url = format!("data:{media_type};base64,{data}");
        let openai_image = json!({"type": "image_url", "image_url": {"url": url}});
        let images = [
            (Anthropic, anthropic_image(media_type, data)),
            (OpenAi, openai_image),
        ];
        for (provider, image) in images {
            let model = ModelServer::start();
            model.script("v", [Reply::text("Nice.")]);
            let content = json!([{"type": "text", "text": "Look #v"}, image]);
            let body = request(provider, json!([{"role": "user", "content": content}]));
            let status = post(&model, provider, &body).await.status();
            assert_eq!(
                status == 200,
                is_good,
                "{media_type} {data}: {:?}",
                model.violations()
            );
        }
    }
}

#[actix_web::test]
async fn an_image_is_not_too_large() {
    let png = |width: u32| {
        let head = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        STANDARD.encode([&head[..], &width.to_be_bytes(), &[0, 0, 0, 1]].concat())
    };
    let heavy = STANDARD.encode([b"\x89PNG\r\n\x1a\n".as_slice(), &[0; 4_000_000]].concat());
    for (data, fault) in [
        (png(8_000), ""),
        (png(8_001), "has an edge of 8001 pixels."),
        (heavy, "has 5333344 bytes of base64."),
    ] {
        let model = ModelServer::start();
        model.script("v", [Reply::text("Nice.")]);
        let content =
            json!([{"type": "text", "text": "Look #v"}, anthropic_image("image/png", &data)]);
        let body = request(Anthropic, json!([{"role": "user", "content": content}]));
        post(&model, Anthropic, &body).await;
        let violations = model.violations().concat();
        assert_eq!(violations.is_empty(), fault.is_empty(), "{violations}");
        assert!(violations.contains(fault), "{violations}");
    }
}

fn with_results(provider: Provider, reply: &AssembledReply) -> Value {
    let mut messages = vec![user("v"), reply.message(provider)];
    messages.extend(reply.results(provider, "hi"));
    request(provider, json!(messages))
}

fn anthropic_image(media_type: &str, data: &str) -> Value {
    let source = json!({"type": "base64", "media_type": media_type, "data": data});
    json!({"type": "image", "source": source})
}

fn push(body: &mut Value, block: Value) {
    body["messages"][2]["content"]
        .as_array_mut()
        .unwrap()
        .push(block);
}

fn truncate(body: &mut Value, length: usize) {
    body["messages"].as_array_mut().unwrap().truncate(length);
}
