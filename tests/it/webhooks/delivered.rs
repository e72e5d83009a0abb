//! Deliveries: their events, their format and their signatures.

use serde_json::{Value, json};

use super::{Created, start};
use crate::support::receiver::{Behavior, Receiver};
use crate::support::{bash, put_runner};

#[tokio::test]
async fn the_end_of_a_job_is_delivered_once_and_signed() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let webhook = Created::at(&service, &receiver).await;
    let job = json!({
        "skill": "shell",
        "model": "script/bash",
        "prompt": bash("echo 1 > a.txt"),
        "metadata": {"order": 4711},
    });
    let job = service.run(&job).await;
    let delivery = webhook.until_status(&service, "delivered").await;
    let [received] = &receiver.received()[..] else {
        panic!("{:#?}", receiver.received())
    };
    let content = received.verify(&webhook.secret).unwrap();
    let (_, events) = service.get("/v1/events?types=job.completed").await;
    let event = &events["data"][0];
    let expected = json!({"type": "job.completed", "timestamp": event["at"], "data": event});
    assert_eq!(content, expected);
    assert_eq!(content["data"]["metadata"], json!({"order": 4711}));
    let id = job["id"].as_str().unwrap().strip_prefix("job_").unwrap();
    assert_eq!(received.id(), format!("evt_{id}_{}", event["seq"]));
    assert_eq!(received.headers["content-type"], "application/json");
    assert!(received.headers["user-agent"].starts_with("skillet/"));
    for (field, value) in [
        ("event_id", json!(received.id())),
        ("job_id", job["id"].clone()),
        ("seq", event["seq"].clone()),
        ("type", json!("job.completed")),
        ("attempts", json!(1)),
        ("next_at", Value::Null),
    ] {
        assert_eq!(delivery[field], value, "{field}");
    }
    let last = &delivery["last"];
    assert_eq!(
        (&last["status"], &last["error"]),
        (&json!(204), &Value::Null)
    );
    assert!(webhook.get(&service).await["last_success_at"].is_string());
}

#[tokio::test]
async fn a_webhook_gets_the_types_skills_and_agents_that_it_names() {
    let service = start().await;
    put_runner(&service).await;
    let receiver = Receiver::accepting().await;
    let of = async |fields: Value| {
        let mut body = fields;
        body["url"] = json!(receiver.url);
        Created::with(&service, &body).await
    };
    let started = of(json!({"events": ["job.started"]})).await;
    let of_agent = of(json!({"events": ["job.completed"], "agents": ["runner"]})).await;
    let of_skill = of(json!({"events": ["job.completed"], "skills": ["shell", "pdf"]})).await;
    let of_both =
        of(json!({"events": ["job.completed"], "skills": ["shell"], "agents": ["runner"]})).await;
    let shell = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
    let runner = json!({"agent": "runner", "model": "script/bash", "prompt": bash("true")});
    for job in [shell, runner] {
        assert_eq!(service.run(&job).await["status"], "completed");
    }
    receiver.until(6).await;
    for (webhook, kind, count) in [
        (&started, "job.started", 2),
        (&of_agent, "job.completed", 1),
        (&of_skill, "job.completed", 1),
        (&of_both, "job.completed", 2),
    ] {
        let deliveries = webhook.deliveries(&service).await;
        assert_eq!(deliveries.len(), count, "{deliveries:#?}");
        assert!(deliveries.iter().all(|it| it["type"] == kind));
    }
    assert_eq!(receiver.received().len(), 6);
}

#[tokio::test]
async fn a_test_goes_the_way_of_all_events_and_shows_the_result() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let webhook = Created::at(&service, &receiver).await;
    let test = format!("{}/test", webhook.path);
    let (status, delivery) = service.post(&test, &Value::Null).await;
    assert_eq!(
        (status.as_u16(), &delivery["status"]),
        (200, &json!("delivered"))
    );
    let received = receiver.received();
    let content = received[0].verify(&webhook.secret).unwrap();
    assert_eq!(content["type"], "webhook.test");
    assert_eq!(content["data"], json!({"delivery_id": delivery["id"]}));
    assert_eq!(delivery["event_id"], received[0].id());

    // A test has one attempt and does not change the status of the webhook, even while the webhook is paused.
    receiver.set(Behavior::Answer(410, "", "gone fishing"));
    webhook.set_status(&service, "paused").await;
    let (_, delivery) = service.post(&test, &Value::Null).await;
    let last = &delivery["last"];
    let shown = (&delivery["status"], &last["status"], &last["response"]);
    assert_eq!(shown, (&json!("dead"), &json!(410), &json!("gone fishing")));
    let webhook = webhook.get(&service).await;
    assert_eq!(
        (&webhook["status"], &webhook["failing_since"]),
        (&json!("paused"), &Value::Null)
    );
}

#[tokio::test]
async fn what_a_paused_webhook_would_deliver_waits() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let webhook = Created::at(&service, &receiver).await;
    webhook.set_status(&service, "paused").await;
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    webhook.until_status(&service, "pending").await;
    // A later test is delivered first.
    service
        .post(&format!("{}/test", webhook.path), &Value::Null)
        .await;
    assert_eq!(receiver.until(1).await[0].kind(), "webhook.test");
    webhook.set_status(&service, "active").await;
    assert_eq!(receiver.until(2).await[1].kind(), "job.completed");
}
