//! The webhook of a single job.

use reqwest::Method;
use serde_json::{Value, json};

use super::{deliveries, start};
use crate::support::receiver::{Behavior, Receiver};
use crate::support::{Service, bash, until};

fn job(webhook: &Value) -> Value {
    json!({"skill": "shell", "model": "script/bash", "prompt": bash("true"), "webhook": webhook})
}

async fn default_secret(service: &Service) -> String {
    let (_, revealed) = service.get("/v1/webhooks/default-secret").await;
    revealed["secret"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn the_end_of_a_job_is_posted_to_its_own_url_signed_with_the_default_secret() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let of_url = service.create(&job(&json!(receiver.url))).await;
    let received = receiver.until(1).await;
    let content = received[0].verify(&default_secret(&service).await).unwrap();
    assert_eq!(
        (&content["type"], &content["data"]["job_id"]),
        (&json!("job.completed"), &json!(of_url))
    );
    let settings = json!({"url": receiver.url, "events": ["job.started"]});
    let of_settings = service.create(&job(&settings)).await;
    let received = receiver.until(2).await;
    assert_eq!(received[1].kind(), "job.started");
    service.finished(&of_settings).await;
    let path = format!("/v1/jobs/{of_settings}");
    until(async || deliveries(&service, &path).await[0]["status"] == "delivered").await;
    assert_eq!(
        deliveries(&service, &path).await[0]["webhook_id"],
        Value::Null
    );

    let (_, request) = service.get(&format!("{path}/request")).await;
    assert_eq!(request["webhook"], settings);
    let (_, listed) = service.get("/v1/webhooks").await;
    assert_eq!(
        listed["data"],
        json!([]),
        "it is none of the tenant's webhooks"
    );
}

#[tokio::test]
async fn jobs_of_a_batch_a_retry_and_a_schedule_have_their_webhook() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let body = job(&json!(receiver.url));
    let (status, page) = service
        .post("/v1/jobs/batch", &json!({"jobs": [body, body]}))
        .await;
    assert_eq!(status, 202, "{page:#}");
    receiver.until(2).await;
    let first = page["data"][0]["id"].as_str().unwrap();
    let (status, _) = service
        .post(&format!("/v1/jobs/{first}/retry"), &Value::Null)
        .await;
    assert_eq!(status, 202);
    receiver.until(3).await;
    let schedule = json!({"name": "hourly", "interval_seconds": 3600, "job": body});
    let (_, schedule) = service.post("/v1/schedules", &schedule).await;
    let run = format!("/v1/schedules/{}/run", schedule["id"].as_str().unwrap());
    assert_eq!(service.post(&run, &Value::Null).await.0, 202);
    let received = receiver.until(4).await;
    let jobs: std::collections::BTreeSet<_> = received
        .iter()
        .map(|it| it.json()["data"]["job_id"].to_string())
        .collect();
    assert_eq!(jobs.len(), 4);
}

#[tokio::test]
async fn a_delivery_of_a_job_is_redelivered_and_removed_with_the_job() {
    let service = start().await;
    let receiver = Receiver::start(Behavior::Answer(410, "", "")).await;
    let id = service.create(&job(&json!(receiver.url))).await;
    let path = format!("/v1/jobs/{id}");
    receiver.until(1).await;
    until(async || {
        let all = deliveries(&service, &path).await;
        all.first().is_some_and(|it| it["status"] == "dead")
    })
    .await;
    // A status of 410 ends this delivery, but no other delivery to the same origin.
    receiver.set(Behavior::Answer(204, "", ""));
    let delivery = deliveries(&service, &path).await.remove(0);
    let delivery = delivery["id"].as_str().unwrap();
    let redeliver = format!("{path}/deliveries/{delivery}/redeliver");
    assert_eq!(service.post(&redeliver, &Value::Null).await.0, 200);
    until(async || deliveries(&service, &path).await[0]["status"] == "delivered").await;

    let delete = service.request(Method::DELETE, &path).send().await.unwrap();
    assert_eq!(delete.status(), 204);
    let count = "select count(*) from webhook_delivery";
    let count: i64 = sqlx::query_scalar(count)
        .fetch_one(&service.pool)
        .await
        .unwrap();
    assert_eq!(count, 0);
}
