//! Webhooks that the service disables, and how they recover.

use serde_json::{Value, json};

use super::{Created, make_due, start};
use crate::support::problem::Problem;
use crate::support::receiver::{Behavior, Receiver};
use crate::support::{Service, until};

async fn until_disabled(service: &Service, webhook: &Created, reason: &str) {
    until(async || {
        let webhook = webhook.get(service).await;
        webhook["status"] == "disabled" && webhook["disabled_reason"] == reason
    })
    .await;
}

/// Runs a job to its end, and waits until its delivery is recorded.
async fn end_job(service: &Service, webhook: &Created, count: usize) {
    let job = service.create_shell("true").await;
    service.finished(&job).await;
    until(async || webhook.deliveries(service).await.len() == count).await;
}

#[tokio::test]
async fn the_answer_410_disables_a_webhook_and_all_is_recovered_later() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(410, "", "")).await;
    let webhook = Created::at(&service, &receiver).await;
    end_job(&service, &webhook, 1).await;
    until_disabled(&service, &webhook, "gone").await;
    let disabled_at = webhook.get(&service).await["disabled_at"].clone();
    let change = json!({"description": "gone since then"});
    let (_, changed) = service.patch(&webhook.path, &change).await;
    assert!(disabled_at.is_string(), "{changed:#}");
    assert_eq!(
        changed["disabled_at"], disabled_at,
        "a note changes nothing"
    );
    assert!(
        changed["failing_since"].as_str() <= disabled_at.as_str(),
        "{changed:#}"
    );
    end_job(&service, &webhook, 2).await;
    let deliveries = webhook.deliveries(&service).await;
    assert!(
        deliveries.iter().all(|it| it["status"] == "dead"),
        "{deliveries:#?}"
    );
    let error = deliveries[1]["last"]["error"].as_str().unwrap();
    assert_eq!(error, "the webhook is disabled");
    assert_eq!(receiver.received().len(), 1);

    receiver.set(Behavior::Answer(204, "", ""));
    let since = json!({"since": deliveries[0]["created_at"]});
    let recover = format!("{}/recover", webhook.path);
    let redeliver = format!(
        "{}/deliveries/{}/redeliver",
        webhook.path,
        deliveries[0]["id"].as_str().unwrap()
    );
    for path in [&recover, &redeliver] {
        let request = service.request(reqwest::Method::POST, path).json(&since);
        assert_eq!(Problem::of(request).await.kind(), (409, "webhook_disabled"));
    }
    webhook.set_status(&service, "active").await;
    let (status, recovered) = service.post(&recover, &since).await;
    assert_eq!(
        (status.as_u16(), &recovered),
        (200, &json!({"recovered": 2}))
    );
    let received = receiver.until(3).await;
    let events = |it: &Value| it["event_id"].as_str().unwrap().to_owned();
    let mut expected: Vec<_> = deliveries.iter().map(events).collect();
    let mut found: Vec<_> = received[1..].iter().map(|it| it.id().to_owned()).collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    until(async || {
        let deliveries = webhook.deliveries(&service).await;
        deliveries.iter().all(|it| it["status"] == "delivered")
    })
    .await;
    let (_, nothing) = service.post(&recover, &since).await;
    assert_eq!(
        nothing,
        json!({"recovered": 0}),
        "what was delivered is not repeated"
    );
}

#[tokio::test]
async fn only_what_failed_since_the_time_is_recovered() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(500, "", "")).await;
    let webhook = Created::at(&service, &receiver).await;
    end_job(&service, &webhook, 1).await;
    end_job(&service, &webhook, 2).await;
    receiver.until(2).await;
    until(async || {
        let deliveries = webhook.deliveries(&service).await;
        deliveries.iter().all(|it| it["status"] == "failed")
    })
    .await;
    let deliveries = webhook.deliveries(&service).await;
    let since = json!({"since": deliveries[1]["created_at"]});
    let (_, recovered) = service
        .post(&format!("{}/recover", webhook.path), &since)
        .await;
    assert_eq!(recovered, json!({"recovered": 1}));
}

#[tokio::test]
async fn five_days_of_failures_disable_a_webhook() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(500, "", "")).await;
    let webhook = Created::at(&service, &receiver).await;
    end_job(&service, &webhook, 1).await;
    webhook.until_status(&service, "failed").await;
    assert_eq!(webhook.get(&service).await["status"], "active");
    let pass = "update webhook_state set failing_since = now() - interval '121 hours'";
    sqlx::query(pass).execute(&service.pool).await.unwrap();
    make_due(&service).await;
    until_disabled(&service, &webhook, "failing").await;
    webhook.until_status(&service, "dead").await;
    webhook.set_status(&service, "active").await;
    let shown = webhook.get(&service).await;
    for field in ["disabled_reason", "disabled_at", "failing_since"] {
        assert_eq!(shown[field], Value::Null, "{field}");
    }
}
