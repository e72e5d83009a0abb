//! Compaction of histories that exceed the context window.

use serde_json::{Value, json};
use tests::model_server::{Reply, Request};

use super::{CLAUDE, GPT, begin, messages, next, shown};
use crate::support::log::{assert_whole, data};
use crate::support::{Service, until};

/// Starts a service whose models have a context window of this size.
async fn service(tokens: u32) -> Service {
    let windows = format!("anthropic/={tokens},openai/={tokens}");
    let mut service = Service::with_environment(&[("SKILLET_CONTEXT_WINDOWS", &windows)]).await;
    service.add_worker(&[]).await;
    service
}

/// Whether the request asks for a summary.
fn wants_summary(request: &Request) -> bool {
    let body = request.body.to_string();
    request["tools"].is_null() && body.contains("You keep the notes")
}

#[tokio::test]
async fn a_conversation_goes_on_with_a_summary_of_what_is_too_much() {
    let service = service(4_000).await;
    for (number, model) in [CLAUDE, GPT].into_iter().enumerate() {
        let marker = format!("compact-{number}");
        service.model.script_conversation(&marker, |request| {
            if wants_summary(request) {
                return Reply::text("They like the number 42.").usage(70, 30);
            }
            let long = "long ".repeat(150);
            let read = request["messages"].to_string().len() as u64 / 4;
            match shown(request).last().unwrap() {
                last if last.contains("work") => {
                    let reply = Reply::text(long);
                    let reply = reply.then_call("shell_exec", json!({"command": "seq 300"}));
                    reply.usage(read, 300)
                }
                _ => Reply::text("Right.").usage(read, 10),
            }
        });
        let conversation = begin(&service, "default").await;
        for turn in 0..6 {
            let prompt = format!("Please work, turn {turn} #{marker}.");
            let job = service.run(&next(&conversation, model, &prompt)).await;
            assert_eq!(
                (&job["status"], &job["text"]),
                (&json!("completed"), &json!("Right.")),
                "{job:#}\n{}",
                service.logs()
            );
        }
        let requests = service.model.requests(&marker);
        let (summaries, others): (Vec<_>, Vec<_>) =
            requests.iter().partition(|it| wants_summary(it));
        assert!((1..6).contains(&summaries.len()), "{}", summaries.len());
        assert_eq!(others.len(), 12);
        let told = &shown(summaries[0])[0];
        assert!(
            told.contains("PERSON: Please work, turn 0")
                && told.contains("ASSISTANT CALLS shell.exec: "),
            "{told}"
        );

        let last = shown(others[11]);
        assert!(
            last[0].contains("They like the number 42.") && last[0].contains("turn"),
            "{last:#?}"
        );
        assert!(!last.concat().contains("turn 0"), "{last:#?}");
        assert!(last.concat().contains("turn 5"), "{last:#?}");
        let bytes = last.concat().len();
        assert!(bytes < 4 * 4_000, "{bytes}");
        let said = messages(&service, &conversation).await;
        let summed = said
            .iter()
            .filter(|message| message["said"]["role"] == "summary");
        assert_eq!(summed.count(), summaries.len());
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_single_long_job_is_protected_also_over_a_crash() {
    let mut service = service(4_000).await;
    service.model.script_conversation("long", |request| {
        if wants_summary(request) {
            return Reply::text("I have been counting.").usage(1_000, 10);
        }
        let body = request.body.to_string();
        let last = (0..12)
            .rev()
            .find(|number| body.contains(&format!("step {number}.")));
        let reply = match last.map_or(0, |number| number + 1) {
            9 => Reply::text("step 9.").then_call("shell_exec", json!({"command": "sleep 60"})),
            number @ 0..12 => {
                let command = format!("echo {number}; seq 500");
                Reply::text(format!("step {number}."))
                    .then_call("shell_exec", json!({ "command": command }))
            }
            _ => Reply::text("Counted."),
        };
        // Simulate a provider that does not report usage.
        reply.usage(0, 0)
    });
    let mut body = json!({"agent": "default", "model": CLAUDE, "prompt": "Count. #long"});
    body["limits"] = json!({"max_iterations": 20});
    let job = service.create(&body).await;
    until(async || {
        let events = service.events(&job).await;
        events
            .iter()
            .filter(|event| event["type"] == "tool.started")
            .count()
            == 10
    })
    .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["text"], &ended["attempt"]),
        (&json!("Counted."), &json!(2)),
        "{ended:#}\n{}",
        service.logs()
    );
    assert_eq!(
        (&ended["usage"]["iterations"], &ended["usage"]["tool_calls"]),
        (&json!(13), &json!(12))
    );
    let events = service.events(&job).await;
    assert_whole(&events);
    let compacted = data(&events, "conversation.compacted");
    assert!(compacted.len() >= 2, "{compacted:#?}");
    for compacted in &compacted {
        assert_eq!(
            (
                &compacted["up_to"]["job"],
                &compacted["usage"]["input_tokens"]
            ),
            (&json!(job), &json!(1_000))
        );
        // The summarized part ends just before a reply.
        let seq = usize::try_from(compacted["up_to"]["seq"].as_i64().unwrap()).unwrap();
        let after = events[seq..]
            .iter()
            .find(|event| !event["type"].as_str().unwrap().ends_with("delta"));
        assert_eq!(after.unwrap()["type"], "message.completed");
    }
    let asked: Vec<_> = service
        .model
        .requests("long")
        .into_iter()
        .filter(|it| !wants_summary(it))
        .collect();
    assert_eq!(asked.len(), 13, "no finished turn is asked for again");
    let shown = shown(asked.last().unwrap());
    assert!(
        shown[0].starts_with("user: ")
            && shown[0].contains("I have been counting.")
            && shown[0].contains("Count. #long"),
        "{shown:#?}"
    );
    let used = ended["usage"]["input_tokens"].as_i64().unwrap();
    assert_eq!(used, 1_000 * compacted.len() as i64);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_summary_that_does_not_come_ends_nothing() {
    let service = service(2_000).await;
    service.model.script_conversation("blank", |request| {
        if wants_summary(request) {
            return Reply::text(" ");
        }
        let reply = match request.turn() {
            turn @ 0..3 => Reply::text("On.").then_call(
                "shell_exec",
                json!({"command": format!("echo {turn}; seq 900")}),
            ),
            _ => Reply::text("Done."),
        };
        reply.usage(0, 0)
    });
    let job = service
        .run(&json!({"agent": "default", "model": CLAUDE, "prompt": "Go. #blank"}))
        .await;
    assert_eq!(
        (&job["status"], &job["text"]),
        (&json!("completed"), &json!("Done.")),
        "{job:#}"
    );
    let events = service.events(job["id"].as_str().unwrap()).await;
    assert_eq!(data(&events, "conversation.compacted"), [&Value::Null; 0]);
    assert_eq!(service.model.violations(), [""; 0]);
}
