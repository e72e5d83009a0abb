//! Changed histories.

use serde_json::{Value, json};

use super::client::{BOTH, ask, first, post, request, user};
use crate::model_server::{ModelServer, Provider, Reply};

/// Returns a conversation up to the results of its first tool call.
async fn after_a_call(model: &ModelServer, provider: Provider) -> Vec<Value> {
    let reply = ask(model, provider, &first(provider, "h")).await;
    let mut messages = vec![user("h"), reply.message(provider)];
    messages.extend(reply.results(provider, "hi"));
    messages
}

fn call() -> Reply {
    Reply::thinking("Hm.")
        .then_text("I look.")
        .then_call("execute_bash", json!({"command": "ls"}))
}

#[actix_web::test]
async fn a_conversation_over_several_jobs_restarts_and_retries_is_in_order() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script(
            "h",
            [
                call(),
                Reply::status(429),
                Reply::text("A."),
                Reply::text("B."),
            ],
        );
        let mut messages = after_a_call(&model, provider).await;
        let body = request(provider, json!(messages));
        assert_eq!(post(&model, provider, &body).await.status(), 429);
        assert_eq!(ask(&model, provider, &body).await.text, "A.");
        let again = ask(&model, provider, &body).await;
        assert_eq!(again.text, "B.");

        model.script("h", [Reply::text("C.")]);
        messages.push(again.message(provider));
        messages.push(json!({"role": "user", "content": "And now?"}));
        assert_eq!(
            ask(&model, provider, &request(provider, json!(messages)))
                .await
                .text,
            "C."
        );
        assert_eq!(model.violations(), [""; 0]);
    }
}

#[actix_web::test]
async fn the_mark_of_the_cached_prefix_may_move() {
    let provider = Provider::Anthropic;
    let model = ModelServer::start();
    model.script("h", [call(), Reply::text("Done.")]);
    let mark = |text: &str, marks: Value| {
        let mut block = json!({"type": "text", "text": text});
        if !marks.is_null() {
            block["cache_control"] = marks;
        }
        json!({"role": "user", "content": [block]})
    };
    let marked = mark("Draw #h", json!({"type": "ephemeral"}));
    let reply = ask(&model, provider, &request(provider, json!([marked]))).await;
    let mut results = reply.results(provider, "hi").remove(0);
    results["content"][0]["cache_control"] = json!({"type": "ephemeral"});
    let messages = json!([
        mark("Draw #h", Value::Null),
        reply.message(provider),
        results
    ]);
    ask(&model, provider, &request(provider, messages)).await;
    assert_eq!(model.violations(), [""; 0]);
}

#[actix_web::test]
async fn a_half_call_may_be_left_out_and_an_empty_reply_talked_over() {
    for provider in BOTH {
        let model = ModelServer::start();
        let half = Reply::call("execute_bash", json!({"command": "ls"})).out_of_tokens();
        model.script("h", [half, Reply::empty(), Reply::text("Done.")]);
        ask(&model, provider, &first(provider, "h")).await;
        let text = user("h")["content"].clone();
        let mut blocks = vec![json!({"type": "text", "text": text})];
        for more in ["Your call was cut.", "Please sum up."] {
            blocks.push(json!({"type": "text", "text": more}));
            let messages = json!([{"role": "user", "content": blocks}]);
            ask(&model, provider, &request(provider, messages)).await;
        }
        assert_eq!(model.violations(), [""; 0]);
    }
}

#[actix_web::test]
async fn a_changed_history_is_noticed() {
    type Change = fn(Provider, &mut Vec<Value>);
    let changes: [(&str, Change); 3] = [
        (
            "Message 0 (user) is not what an earlier request said",
            |_, messages| {
                messages[0]["content"] = json!("Draw something else #h");
            },
        ),
        (
            "Message 1 (assistant) is not what the model replied",
            |provider, messages| match provider {
                Provider::Anthropic => messages[1]["content"][1]["text"] = json!("I looked."),
                Provider::OpenAi => messages[1]["content"] = json!("I looked."),
            },
        ),
        (
            "(user) is not what an earlier request said",
            |_, messages| {
                let last = messages.last_mut().unwrap();
                *last = json!({"role": "user", "content": "Something else?"});
            },
        ),
    ];
    for provider in BOTH {
        for (number, (expected, change)) in changes.iter().enumerate() {
            let model = ModelServer::start();
            model.script(
                "h",
                [
                    call(),
                    Reply::text("A."),
                    Reply::text("B."),
                    Reply::text("C."),
                ],
            );
            let mut messages = after_a_call(&model, provider).await;
            if number >= 2 {
                let reply = ask(&model, provider, &request(provider, json!(messages))).await;
                messages.push(reply.message(provider));
                messages.push(json!({"role": "user", "content": "And now?"}));
                ask(&model, provider, &request(provider, json!(messages))).await;
            }
            assert_eq!(model.violations(), [""; 0]);
            change(provider, &mut messages);
            let body = request(provider, json!(messages));
            assert_eq!(post(&model, provider, &body).await.status(), 400);
            let violations = model.violations();
            assert!(
                violations.concat().contains(expected),
                "{provider:?}: {violations:?}"
            );
            assert_eq!(violations.len(), 1, "{violations:?}");
        }
    }
}

#[actix_web::test]
async fn a_reply_that_the_model_never_gave_is_noticed() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script("h", [Reply::text("A.")]);
        let invented = json!({"role": "assistant", "content": "Invented."});
        let body = request(provider, json!([user("h"), invented, user("h")]));
        assert_eq!(post(&model, provider, &body).await.status(), 400);
        assert_eq!(
            model.violations(),
            ["#h, request 0: Message 1 (assistant) is a reply that the model never gave."]
        );
    }
}

#[actix_web::test]
async fn jobs_that_share_a_rule_do_not_contradict_each_other() {
    for provider in BOTH {
        let model = ModelServer::start();
        model.script_with("h", |request| match request.turn() {
            0 => call(),
            _ => Reply::text("Done."),
        });
        let (mut one, mut other) = (
            after_a_call(&model, provider).await,
            after_a_call(&model, provider).await,
        );
        assert_ne!(one, other);
        for messages in [&mut one, &mut other] {
            assert_eq!(
                ask(&model, provider, &request(provider, json!(messages)))
                    .await
                    .text,
                "Done."
            );
        }
        one.truncate(1);
        one.extend(other.drain(1..));
        one[1]["content"] = json!("Something else.");
        let body = request(provider, json!(one));
        assert_eq!(post(&model, provider, &body).await.status(), 400);
    }
}
