//! Logs that contain entries of the next release.

use std::sync::atomic::{AtomicUsize, Ordering};

use reqwest::Method;
use serde_json::{Value, json};
use tests::model_server::Reply;

use super::{execute, id};
use crate::support::log::{assert_whole, data};
use crate::support::{Service, scripted, until};

const CLAUDE: &str = "anthropic/claude-test";

/// Changes each text block in the job's log to a block type of the next release.
const NEWER_REPLY: &str = r#"update job_event set data = replace(data::text, '"type":"text"', '"type":"hologram"')::json
    where job_id = $1 and type = 'message.completed'"#;

#[tokio::test]
async fn an_orphan_whose_log_cannot_be_read_does_not_keep_the_others_from_being_taken_over() {
    let mut service = Service::without_worker().await;
    let quick = [("SKILLET_WORKER_SILENCE", "1"), ("SKILLET_SLOTS", "4")];
    service.add_worker(&quick).await;
    let mut jobs = Vec::new();
    for marker in ["newer", "other"] {
        let asked = AtomicUsize::new(0);
        service
            .model
            .script_with(marker, move |request| match request.turn() {
                0 => Reply::text("First.").then_call("shell.exec", json!({"command": "echo one"})),
                _ if asked.fetch_add(1, Ordering::Relaxed) == 0 => Reply::stall(),
                _ => Reply::text("finished"),
            });
        jobs.push(service.create(&scripted(CLAUDE, marker)).await);
        service.model.stalled(marker).await;
    }
    service.workers[0].kill();
    execute(&service, NEWER_REPLY, &jobs[0]).await;
    service.add_worker(&quick).await;
    let other = service.finished(&jobs[1]).await;
    assert_eq!(
        (&other["text"], &other["attempt"]),
        (&json!("finished"), &json!(2)),
        "{other:#}\n{}",
        service.logs()
    );
    let causes = async || {
        let events = service.events(&jobs[0]).await;
        let retried = data(&events, "job.retrying").into_iter();
        retried
            .map(|it| it["cause"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    until(async || causes().await.len() >= 2).await;
    assert_eq!(causes().await[..2], ["crash", "unreadable"]);

    // The job can still be cancelled, and the readable part of its log stays available.
    let path = format!("/v1/jobs/{}/cancel", jobs[0]);
    service.post(&path, &Value::Null).await;
    assert_eq!(service.finished(&jobs[0]).await["status"], "cancelled");
    assert_whole(&service.events(&jobs[0]).await);
}

#[tokio::test]
async fn a_conversation_goes_on_and_is_shown_without_what_cannot_be_read() {
    let service = Service::start().await;
    service
        .model
        .script_conversation("talk", |_| Reply::text("So be it."));
    let agent = json!({"agent": "default"});
    let (_, conversation) = service.post("/v1/conversations", &agent).await;
    let conversation = conversation["id"].as_str().unwrap();
    let ask = |prompt: &str| json!({"agent": "default", "model": CLAUDE, "prompt": prompt, "conversation_id": conversation});
    let first = service.run(&ask("The first. #talk")).await;
    let second = service.run(&ask("The second.")).await;
    assert_eq!(second["text"], "So be it.", "{second:#}");
    let first = first["id"].as_str().unwrap();
    execute(&service, NEWER_REPLY, first).await;
    let request = "update job set request = replace(request::text, '\"inputs\":[]', '\"inputs\":[{\"from\":\"dream\"}]')::json
                   where id = $1";
    execute(&service, request, second["id"].as_str().unwrap()).await;

    let third = service.run(&ask("The third.")).await;
    assert_eq!(third["text"], "So be it.", "{third:#}\n{}", service.logs());
    let asked = service
        .model
        .requests("talk")
        .pop()
        .unwrap()
        .body
        .to_string();
    assert!(asked.contains("The first. #talk"), "{asked}");
    assert!(
        asked.contains("This request can no longer be read."),
        "{asked}"
    );
    assert!(
        asked.contains("parts of this conversation are left out"),
        "{asked}"
    );
    let events = service.events(third["id"].as_str().unwrap()).await;
    let [warning] = data(&events, "log")[..] else {
        panic!("it is said once: {events:#?}")
    };
    assert_eq!(warning["level"], "warning");

    let path = format!("/v1/conversations/{conversation}?limit=2");
    let (status, page) = service.get(&path).await;
    assert_eq!(status, 200, "{page:#}");
    // The page has fewer messages than its limit, and it is not the last page.
    assert_eq!(page["messages"]["data"].as_array().unwrap().len(), 1);
    let cursor = page["messages"]["next_cursor"].as_str().unwrap();
    let (_, rest) = service.get(&format!("{path}&cursor={cursor}")).await;
    let texts = rest["messages"]["data"].as_array().unwrap().iter();
    let texts: Vec<_> = texts
        .map(|it| it["said"]["role"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["user", "assistant"]);
}

#[tokio::test]
async fn a_result_that_cannot_be_read_leaves_the_job_in_its_list() {
    let service = Service::start().await;
    let [newer, other] = [
        service.create_shell("echo newer").await,
        service.create_shell("echo other").await,
    ];
    for job in [&newer, &other] {
        service.finished(job).await;
    }
    let result = "update job_end set result = replace(result::text, 'end_turn', 'end_of_time')::json where job_id = $1";
    execute(&service, result, &newer).await;
    let (status, listed) = service.get("/v1/jobs").await;
    assert_eq!(status, 200, "{listed:#}");
    assert_eq!(listed["data"][0]["text"], "other");
    let shown = &listed["data"][1];
    assert_eq!(
        (&shown["id"], &shown["status"], &shown["text"]),
        (&json!(id(&newer)), &json!("completed"), &Value::Null)
    );
    let warning = shown["warnings"][0].as_str().unwrap();
    assert!(warning.contains("another release"), "{warning}");
    let removed = service.request(Method::DELETE, &format!("/v1/jobs/{newer}"));
    assert_eq!(removed.send().await.unwrap().status(), 204);
}
