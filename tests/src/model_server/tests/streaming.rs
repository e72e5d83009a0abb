//! Streamed replies.

use serde_json::json;

use super::client::{BOTH, ask, assemble, first, post, read};
use crate::model_server::{ModelServer, Provider, Reply, given};

#[actix_web::test]
async fn both_formats_reassemble_to_the_script() {
    for provider in BOTH {
        let model = ModelServer::start();
        let input = json!({"command": "echo 'Grüße, 世界'", "nested": {"list": [1, 2, null]}});
        let reply = Reply::thinking("Hm… 🤔")
            .then_text("I will draw Köln. ".repeat(30))
            .then_call("execute_bash", input.clone())
            .then_call("execute_bash", json!({}))
            .usage(1_234, 567);
        model.script("draw", [reply]);

        let reply = ask(&model, provider, &first(provider, "draw")).await;
        assert_eq!(model.violations(), [""; 0]);
        assert_eq!(reply.text, "I will draw Köln. ".repeat(30));
        assert_eq!(reply.thinking, "Hm… 🤔");
        assert_eq!(reply.usage, (1_234, 567));
        assert!(reply.is_complete);
        let [(first_id, name, arguments), (second_id, _, no_arguments)] = &reply.calls[..] else {
            panic!("{:?}", reply.calls);
        };
        assert_ne!(first_id, second_id);
        assert_eq!(name, "execute_bash");
        assert_eq!(given::object(arguments), Some(input));
        let (stop_reason, empty) = match provider {
            Provider::Anthropic => ("tool_use", ""),
            Provider::OpenAi => ("tool_calls", "{}"),
        };
        assert_eq!(
            (reply.stop_reason.as_str(), no_arguments.as_str()),
            (stop_reason, empty)
        );
    }
}

#[actix_web::test]
async fn a_long_reply_arrives_in_many_writes_that_tear_characters_apart() {
    let model = ModelServer::start();
    model.script("long", [Reply::text("世界".repeat(500))]);
    let mut response = post(&model, Provider::OpenAi, &first(Provider::OpenAi, "long")).await;
    let mut chunks = Vec::new();
    while let Some(chunk) = response.chunk().await.unwrap() {
        chunks.push(chunk);
    }
    assert!(chunks.len() > 50, "{} chunks", chunks.len());
    assert!(
        chunks
            .iter()
            .any(|chunk| std::str::from_utf8(chunk).is_err())
    );
}

#[actix_web::test]
async fn the_anthropic_stream_has_the_providers_events_in_the_providers_order() {
    let model = ModelServer::start();
    model.script("order", [Reply::text("Hi!").usage(100, 3).cached(60, 20)]);
    let body = first(Provider::Anthropic, "order");
    let (bytes, _) = read(post(&model, Provider::Anthropic, &body).await).await;
    let text = String::from_utf8(bytes).unwrap();
    let names: Vec<&str> = text
        .lines()
        .filter_map(|line| line.strip_prefix("event: "))
        .collect();
    assert_eq!(
        names,
        [
            "message_start",
            "ping",
            "content_block_start",
            "content_block_delta",
            "content_block_stop",
            "message_delta",
            "message_stop",
        ]
    );
    assert!(text.contains(
        r#"{"input_tokens":20,"cache_creation_input_tokens":20,"cache_read_input_tokens":60,"#
    ));
}

#[actix_web::test]
async fn openai_bills_only_a_client_that_wants_to_know() {
    let model = ModelServer::start();
    model.script("bill", [Reply::text("Hi!"), Reply::text("Hi!")]);
    let mut body = first(Provider::OpenAi, "bill");
    assert_eq!(ask(&model, Provider::OpenAi, &body).await.usage, (10, 5));
    body.as_object_mut().unwrap().remove("stream_options");
    assert_eq!(ask(&model, Provider::OpenAi, &body).await.usage, (0, 0));
}

#[actix_web::test]
async fn a_reply_out_of_tokens_has_half_a_call() {
    for provider in BOTH {
        let model = ModelServer::start();
        let call = Reply::call("execute_bash", json!({"command": "echo a long command"}));
        model.script("half", [call.out_of_tokens()]);
        let reply = ask(&model, provider, &first(provider, "half")).await;
        assert_eq!(reply.calls[0].2, r#"{"command":"echo"#);
        assert!(["max_tokens", "length"].contains(&reply.stop_reason.as_str()));
    }
}

#[actix_web::test]
async fn comments_stand_between_the_events_and_change_nothing() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script("alive", [Reply::text("Here.").with_comments()]);
        let (bytes, _) = read(post(&model, provider, &first(provider, "alive")).await).await;
        let text = String::from_utf8(bytes).unwrap();
        let comments = text.matches(": keep-alive\n\n").count();
        assert!(comments > 4, "{text}");
        let rest = text.replace(": keep-alive\n\n", "");
        assert_eq!(rest.matches("\n\n").count(), comments);
        assert_eq!(assemble(provider, rest.as_bytes()).text, "Here.");
    }
}

#[actix_web::test]
async fn a_simple_server_sends_whole_calls_and_neither_usage_nor_an_end() {
    let model = ModelServer::start();
    let input = json!({"command": "ls"});
    let call = Reply::call("execute_bash", input.clone()).then_call("execute_bash", input);
    model.script("simple", [call.as_simple_server()]);
    let body = first(Provider::OpenAi, "simple");
    let (bytes, _) = read(post(&model, Provider::OpenAi, &body).await).await;
    let text = String::from_utf8(bytes).unwrap();
    assert_eq!(
        text.matches(r#""index":0,"id":"call_"#).count(),
        2,
        "{text}"
    );
    assert_eq!(
        text.matches(r#""arguments":"{\"command\":\"ls\"}""#)
            .count(),
        2
    );
    assert!(!text.contains("usage") && !text.contains("[DONE]"));
}
