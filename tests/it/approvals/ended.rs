//! Approvals that expire or are cancelled.

use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{answer, confirmed, shell, waiting};
use crate::support::log::{assert_whole, data, types};
use crate::support::{Service, until};
use shared::id::JobId;

#[tokio::test]
async fn no_answer_in_time_is_a_denial() {
    let service = Service::start().await;
    service.model.script(
        "late",
        [
            Reply::text("Two.")
                .then_call("shell_exec", shell("touch made"))
                .then_call("shell_exec", shell("ls")),
            Reply::text("Nobody came."),
        ],
    );
    let mut body = confirmed("late");
    body["limits"] = json!({"approval_timeout_seconds": 2_592_000});
    let job = service.create(&body).await;
    let asked = waiting(&service, &job).await;
    let events = service.events(&job).await;
    assert_eq!(
        data(&events, "job.waiting")[0]["until"],
        asked[0]["expires_at"]
    );
    super::approve(&service, &asked[1]).await;
    sqlx::query("update approval set expires_at = now() where status = 'pending'")
        .execute(&service.pool)
        .await
        .unwrap();

    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Nobody came.", "{ended:#}");
    let events = service.events(&job).await;
    let resolved = data(&events, "approval.resolved");
    assert_eq!(
        (
            &resolved[1]["status"],
            &resolved[1]["approved"],
            &resolved[1]["resolved_by"]
        ),
        (&json!("expired"), &json!(false), &Value::Null)
    );
    let results = data(&events, "tool.completed");
    assert_eq!(
        (&results[0]["outcome"], &results[1]["outcome"]),
        (&json!("denied"), &json!("ok"))
    );
    assert!(
        results[0]["output"]
            .as_str()
            .unwrap()
            .contains("nobody answered in time"),
        "{results:#?}"
    );
    assert!(
        !results[1]["output"].as_str().unwrap().contains("made"),
        "{results:#?}"
    );
    let (status, problem) = answer(&service, &asked[0], &json!({"decision": "approve"})).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("approval_resolved"))
    );
}

#[tokio::test]
async fn a_cancelled_job_leaves_nothing_to_answer_and_keeps_what_it_came_to() {
    let service = Service::start().await;
    service.model.script(
        "cancelled",
        [
            Reply::text("A file first.")
                .then_call("file_write", json!({"path": "a.txt", "content": "one\n"})),
            Reply::text("Now this.")
                .then_call("shell_exec", shell("true"))
                .usage(100, 20),
        ],
    );
    let job = service.create(&confirmed("cancelled")).await;
    let asked = waiting(&service, &job).await;
    let (status, cancelled) = service
        .post(&format!("/v1/jobs/{job}/cancel"), &json!(null))
        .await;
    assert_eq!(
        (status.as_u16(), &cancelled["status"]),
        (200, &json!("cancelled"))
    );
    assert_eq!(cancelled["text"], "Now this.");
    assert_eq!(
        (
            &cancelled["usage"]["iterations"],
            &cancelled["usage"]["tool_calls"]
        ),
        (&json!(2), &json!(1))
    );
    assert!(cancelled["usage"]["input_tokens"].as_u64().unwrap() >= 100);
    let events = service.events(&job).await;
    assert_whole(&events);
    assert_eq!(
        types(&events).split_last_chunk::<4>().unwrap().1,
        &[
            "job.waiting",
            "approval.resolved",
            "tool.completed",
            "job.cancelled"
        ]
    );
    let (_, listed) = service.get(&format!("/v1/jobs/{job}/approvals")).await;
    assert_eq!(listed["data"][0]["status"], "cancelled");
    let (status, problem) = answer(&service, &asked[0], &json!({"decision": "approve"})).await;
    assert_eq!(
        (status, &problem["code"]),
        (409, &json!("approval_resolved"))
    );
}

#[tokio::test]
async fn a_job_that_is_cancelled_as_it_begins_to_wait_does_not_wait_for_ever() {
    let service = Service::start().await;
    service
        .model
        .script("missed", [Reply::call("shell_exec", shell("true"))]);
    let job = service.create(&confirmed("missed")).await;
    waiting(&service, &job).await;
    // Simulate a cancellation that arrived while the worker was writing its last event.
    sqlx::query("update run set cancel_requested = true where job_id = $1")
        .bind(job.parse::<JobId>().unwrap())
        .execute(&service.pool)
        .await
        .unwrap();
    assert_eq!(service.finished(&job).await["status"], "cancelled");
    assert_whole(&service.events(&job).await);
}

#[tokio::test]
async fn a_job_of_a_conversation_that_waits_holds_up_the_next_and_lets_it_go_when_it_ends() {
    let service = Service::start().await;
    service
        .model
        .script_with("line", |request| match request.turn() {
            0 => Reply::call("shell_exec", shell("echo a")),
            _ => Reply::text("B."),
        });
    let (_, conversation) = service
        .post("/v1/conversations", &json!({"agent": "default"}))
        .await;
    let mut first = confirmed("line");
    first["conversation_id"] = conversation["id"].clone();
    let mut second = confirmed("line");
    second["conversation_id"] = conversation["id"].clone();
    let first = service.create(&first).await;
    let second = service.create(&second).await;
    waiting(&service, &first).await;
    let (_, shown) = service.get(&format!("/v1/jobs/{second}")).await;
    assert_eq!(
        shown["queue"],
        json!({"reason": "earlier_job", "job_id": first})
    );
    service
        .post(&format!("/v1/jobs/{first}/cancel"), &json!(null))
        .await;
    assert_eq!(service.finished(&second).await["text"], "B.");
    assert_eq!(service.model.violations(), [""; 0]);
}

#[tokio::test]
async fn a_worker_that_dies_after_the_answer_leaves_the_answer_valid() {
    let mut service = Service::start().await;
    service.model.script(
        "die",
        [
            Reply::text("Two.")
                .then_call("shell_exec", shell("echo one; sleep 60"))
                .then_call("shell_exec", shell("echo two")),
            Reply::text("Done."),
        ],
    );
    let job = service.create(&confirmed("die")).await;
    for approval in waiting(&service, &job).await {
        super::approve(&service, &approval).await;
    }
    until(async || {
        let events = service.events(&job).await;
        !data(&events, "tool.started").is_empty()
    })
    .await;
    service.workers[0].kill();
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(ended["text"], "Done.", "{ended:#}");
    let events = service.events(&job).await;
    let results = data(&events, "tool.completed");
    assert_eq!(
        (&results[0]["outcome"], &results[1]["outcome"]),
        (&json!("unknown"), &json!("ok"))
    );
    // Each approval is requested only once.
    assert_eq!(data(&events, "approval.requested").len(), 2);
    assert_eq!(service.model.violations(), [""; 0]);
}
