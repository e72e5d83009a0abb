//! Kinds of replies: pauses, refusals, reasoning, and quirks of small servers.

use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::log::{data, text};
use crate::support::{Service, scripted};

const BOTH: [&str; 2] = ["anthropic/claude-test", "openai/gpt-test"];
const CLAUDE: &str = BOTH[0];
const GPT: &str = BOTH[1];

fn command(text: &str) -> Value {
    json!({ "command": text })
}

#[tokio::test]
async fn a_reply_that_pauses_goes_on_when_it_is_asked_to() {
    let service = Service::start().await;
    let pause = Reply::text("First this.").stop_reason("pause_turn");
    service
        .model
        .script("pause", [pause, Reply::text("Then that.")]);
    let job = service.run(&scripted(CLAUDE, "pause")).await;
    assert_eq!(
        (&job["text"], &job["stop_reason"]),
        (&json!("Then that."), &json!("end_turn"))
    );
    let again = &service.model.requests("pause")[1]["messages"];
    assert_eq!(again[1]["content"][0]["text"], "First this.");
    assert_eq!(again[2]["content"][0]["text"], "Go on.");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_refusal_and_a_full_context_end_the_job_and_say_so() {
    let service = Service::start().await;
    let cases = [
        (CLAUDE, "refusal", "refusal", "declined"),
        (GPT, "content_filter", "refusal", "declined"),
        (
            CLAUDE,
            "model_context_window_exceeded",
            "context_full",
            "context was full",
        ),
    ];
    for (number, (model, reason, stop, warning)) in cases.into_iter().enumerate() {
        let marker = format!("stop-{number}");
        let call = Reply::call("shell.exec", command("true"));
        let last = Reply::text("As far as this").stop_reason(reason);
        service.model.script(&marker, [call, last]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(
            (&job["status"], &job["stop_reason"], &job["text"]),
            (&json!("completed"), &json!(stop), &json!("As far as this"))
        );
        let warned = job["warnings"][0].as_str().unwrap();
        assert!(warned.contains(warning), "{warned}");
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn thoughts_go_back_as_they_came_and_before_the_calls() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("back-{number}");
        let call = Reply::thinking("First I look.")
            .then_redacted_thinking("c2VjcmV0")
            .then_call("shell.exec", command("true"));
        service.model.script(&marker, [call, Reply::text("done")]);
        service.run(&scripted(model, &marker)).await;
        let requests = service.model.requests(&marker);
        let messages = requests[1]["messages"].as_array().unwrap();
        let mut replies = messages.iter();
        let reply = replies.find(|message| message["role"] == "assistant");
        let reply = reply.unwrap();
        if model == CLAUDE {
            let blocks = reply["content"].as_array().unwrap().iter();
            let kinds: Vec<_> = blocks.map(|block| &block["type"]).collect();
            assert_eq!(kinds, ["thinking", "redacted_thinking", "tool_use"]);
            assert_eq!(reply["content"][1]["data"], "c2VjcmV0");
        } else {
            assert_eq!(reply["reasoning_content"], "First I look.");
        }
    }
    // The server checks that a thinking block has the signature that the server gave it.
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_loop_pays_for_its_prefix_once() {
    let service = Service::start().await;
    service.model.script_with("prefix", |request| {
        let turn = request.turn();
        let echo = command(&format!("echo {turn}"));
        match turn {
            0..3 => Reply::call("shell.exec", echo),
            _ => Reply::text("done"),
        }
    });
    service.run(&scripted(CLAUDE, "prefix")).await;
    let requests = service.model.requests("prefix");
    assert_eq!(requests.len(), 4);
    let is_marked = |block: &Value| block["cache_control"]["type"] == "ephemeral";
    for request in &requests {
        let tools = request["tools"].as_array().unwrap();
        assert!(is_marked(tools.last().unwrap()) && is_marked(&request["system"][0]));
    }
    let mut marked_before = 0;
    for request in &requests {
        let messages = request["messages"].as_array().unwrap();
        let marked: Vec<_> = (0..messages.len())
            .filter(|at| {
                let blocks = messages[*at]["content"].as_array().unwrap();
                is_marked(blocks.last().unwrap())
            })
            .collect();
        let last = messages.len() - 1;
        assert!(marked.contains(&last), "what the next request will read");
        assert!(marked.contains(&marked_before), "what the last one wrote");
        assert!(marked.len() <= 2);
        marked_before = last;
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_server_that_sends_no_more_than_it_must_is_understood() {
    let service = Service::start().await;
    let calls = Reply::text("Two things.")
        .then_call("shell.exec", command("echo one"))
        .then_call("shell.exec", command("echo two"))
        .as_simple_server();
    let last = Reply::text("Both are done.").as_simple_server();
    service.model.script("simple", [calls, last]);
    let job = service.run(&scripted(GPT, "simple")).await;
    assert_eq!(job["text"], "Both are done.", "{job:#}");
    assert_eq!(job["usage"]["tool_calls"], 2);
    assert_eq!(job["usage"]["input_tokens"], 0, "nobody said");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn comments_between_events_are_no_part_of_the_reply() {
    let service = Service::start().await;
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("comments-{number}");
        let call = Reply::call("shell.exec", command("true")).with_comments();
        let last = Reply::text("It is so.").with_comments();
        service.model.script(&marker, [call, last]);
        let job = service.run(&scripted(model, &marker)).await;
        let events = service.events(job["id"].as_str().unwrap()).await;
        assert_eq!(text(&events, "message.delta"), "It is so.");
        assert_eq!(data(&events, "message.completed").len(), 2);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn characters_that_come_in_halves_arrive_whole() {
    let service = Service::start().await;
    let words = "Grüße 🎉 and 👍🏽!";
    for (number, model) in BOTH.into_iter().enumerate() {
        let marker = format!("halves-{number}");
        let first = Reply::thinking("Hm 🎉")
            .then_text(words)
            .then_call("shell.exec", command("printf '%s' '🎉👍🏽'"))
            .with_split_pairs();
        service.model.script(&marker, [first, Reply::text("Done.")]);
        let job = service.run(&scripted(model, &marker)).await;
        assert_eq!(job["text"], "Done.", "{job:#}");
        let events = service.events(job["id"].as_str().unwrap()).await;
        assert_eq!(text(&events, "message.delta"), format!("{words}Done."));
        assert_eq!(text(&events, "reasoning.delta"), "Hm 🎉");
        let output = data(&events, "tool.completed")[0]["output"].as_str();
        assert!(output.unwrap().contains(r#""stdout":"🎉👍🏽""#), "{output:?}");
        // No request was repeated, and the reply goes back to the model unchanged.
        assert_eq!(service.model.requests(&marker).len(), 2);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}
