//! One job from the request to its end.

use serde_json::json;
use tests::model_server::Reply;

use crate::support::{Service, bash};

#[tokio::test]
async fn a_job_runs_its_commands_and_answers() {
    let service = Service::start().await;
    let job = service.create_shell("echo hello").await;
    let job = service.finished(&job).await;
    assert_eq!(
        (&job["status"], &job["text"]),
        (&json!("completed"), &json!("hello")),
        "{job:#}"
    );
}

#[tokio::test]
async fn both_providers_are_asked_until_they_have_nothing_left_to_call() {
    let service = Service::start().await;
    for (model, marker) in [("anthropic/claude-test", "a1"), ("openai/gpt-test", "o1")] {
        service.model.script(
            marker,
            [
                Reply::text("I look.").then_call("shell.exec", json!({"command": "echo $((6*7))"})),
                Reply::text("It is 42."),
            ],
        );
        let prompt = format!("What is 6 × 7? #{marker}");
        let job = service
            .run(&json!({"skill": "shell", "model": model, "prompt": prompt}))
            .await;
        assert_eq!(job["text"], "It is 42.", "{job:#}\n{}", service.logs());
        assert_eq!(job["usage"]["iterations"], 2);
    }
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_script_may_say_the_same_as_often_as_it_likes() {
    let service = Service::start().await;
    let prompt = vec![bash("echo x >> log; wc -l < log"); 6].join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt});
    let job = service.run(&job).await;
    assert_eq!(
        (&job["stop_reason"], &job["text"]),
        (&json!("end_turn"), &json!("6"))
    );
}
