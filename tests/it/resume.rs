//! Resumption of a job by another worker.

use serde_json::{Value, json};
use tests::model_server::Reply;

use crate::support::{Service, until};

fn command(text: &str) -> Value {
    json!({ "command": text })
}

/// Returns the outcome and the output of each call, in the order of the log.
fn outcomes(events: &[Value]) -> Vec<(&str, &str)> {
    let completed = events
        .iter()
        .filter(|event| event["type"] == "tool.completed");
    completed
        .map(|event| {
            let data = &event["data"];
            (
                data["outcome"].as_str().unwrap(),
                data["output"].as_str().unwrap(),
            )
        })
        .collect()
}

#[tokio::test]
async fn after_a_crash_no_finished_turn_is_asked_again_and_files_are_there() {
    let mut service = Service::start().await;
    service.model.script(
        "crash",
        [
            Reply::text("First.").then_call(
                "shell.exec",
                command("mkdir d; echo one > d/a.txt; rm in.csv"),
            ),
            Reply::text("Then.").then_call("shell.exec", command("echo two; sleep 60")),
            Reply::text("Again.").then_call("shell.exec", command("cat d/a.txt; ls")),
            Reply::text("It says one."),
        ],
    );
    let data = json!([{"name": "in.csv", "data": "YSxiCg=="}]);
    let body = json!({"skill": "shell", "model": "anthropic/m", "prompt": "Go on. #crash", "inputs": data});
    let job = service.create(&body).await;
    until(async || {
        let events = service.events(&job).await;
        events
            .iter()
            .filter(|event| event["type"] == "tool.started")
            .count()
            == 2
    })
    .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;

    let ended = service.finished(&job).await;
    assert_eq!(
        ended["text"],
        "It says one.",
        "{ended:#}\n{}",
        service.logs()
    );
    assert_eq!(
        (&ended["attempt"], &ended["usage"]["iterations"]),
        (&json!(2), &json!(4))
    );
    let events = service.events(&job).await;
    let outcomes = outcomes(&events);
    assert_eq!(
        outcomes
            .iter()
            .map(|(outcome, _)| *outcome)
            .collect::<Vec<_>>(),
        ["ok", "unknown", "ok"]
    );
    assert!(outcomes[1].1.contains("not known whether this call ran"));
    assert!(
        outcomes[2].1.contains(r#""stdout":"one\nd\n""#),
        "{}",
        outcomes[2].1
    );
    assert_eq!(service.model.requests("crash").len(), 4);
    assert_eq!(service.model.violations(), [""; 0]);
    let scratch = service.home.path().join("assets/workspaces");
    until(async || !scratch.exists()).await;
}

#[tokio::test]
async fn a_drained_job_goes_on_elsewhere_without_a_turn_lost_or_an_attempt_burnt() {
    let mut service = Service::start().await;
    service
        .model
        .script_with("drain", |request| match request.turn() {
            turn @ 0..6 => {
                let write = format!("echo {turn} >> log.txt; cat log.txt; sleep 0.1");
                Reply::text("On.").then_call("shell.exec", command(&write))
            }
            _ => Reply::text("Done."),
        });
    let body = json!({"skill": "shell", "model": "openai/m", "prompt": "Count. #drain"});
    let job = service.create(&body).await;
    for turn in 1..=3 {
        until(async || {
            let events = service.events(&job).await;
            events
                .iter()
                .filter(|event| event["type"] == "tool.completed")
                .count()
                >= turn
        })
        .await;
        service
            .workers
            .last()
            .unwrap()
            .signal(rustix::process::Signal::TERM);
        assert!(service.workers.last_mut().unwrap().wait());
        service.add_worker(&[]).await;
    }
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}\n{}", service.logs());
    let events = service.events(&job).await;
    let outcomes = outcomes(&events);
    assert!(
        outcomes.iter().all(|(outcome, _)| *outcome == "ok"),
        "{outcomes:?}"
    );
    assert!(
        outcomes[5].1.contains(r"0\n1\n2\n3\n4\n5\n"),
        "{}",
        outcomes[5].1
    );
    // A reply that was in progress when its worker left is requested again. A complete reply is not.
    let requests = service.model.requests("drain");
    assert!(requests.iter().is_sorted_by_key(|request| request.turn()));
    assert_eq!(ended["usage"]["iterations"], 7);
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn an_attempt_that_cannot_begin_ends_the_job_with_what_those_before_it_came_to() {
    let quick = ("SKILLET_WORKER_SILENCE", "1");
    let mut service = Service::without_worker().await;
    service.add_worker(&[quick]).await;
    service.model.script(
        "unconfigured",
        [
            Reply::text("First.").then_call("shell.exec", command("echo one")),
            Reply::text("Then.").then_call("shell.exec", command("echo two; sleep 60")),
        ],
    );
    let body = json!({"skill": "shell", "model": "anthropic/m", "prompt": "Go on. #unconfigured"});
    let job = service.create(&body).await;
    until(async || {
        let events = service.events(&job).await;
        let started = events
            .iter()
            .filter(|event| event["type"] == "tool.started");
        started.count() == 2
    })
    .await;
    service.workers[0].kill();
    service
        .add_worker(&[quick, ("ANTHROPIC_API_KEY", "")])
        .await;

    let ended = service.finished(&job).await;
    assert_eq!(ended["error"]["code"], "model_not_configured", "{ended:#}");
    assert_eq!(ended["text"], "Then.");
    assert_eq!(ended["usage"]["iterations"], 2);
    let events = service.events(&job).await;
    let outcomes = outcomes(&events);
    let outcomes: Vec<_> = outcomes.iter().map(|(outcome, _)| *outcome).collect();
    assert_eq!(outcomes, ["ok", "cancelled"]);
}
