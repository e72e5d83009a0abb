//! Events that contain the job.

use serde_json::{Value, json};

use super::{Created, start};
use crate::support::bash;
use crate::support::receiver::Receiver;

#[tokio::test]
async fn an_event_contains_the_job_if_it_fits() {
    let service = start().await;
    let receiver = Receiver::accepting().await;
    let body = json!({"url": receiver.url, "include": "job", "events": ["job.completed"]});
    let webhook = Created::with(&service, &body).await;
    let small = service.create_shell("echo 1 > a.txt").await;
    service.finished(&small).await;
    let received = receiver.until(1).await;
    let content = received[0].verify(&webhook.secret).unwrap();
    let (_, job) = service.get(&format!("/v1/jobs/{small}")).await;
    assert_eq!(content["data"]["job"], job);
    assert_eq!(content["data"]["job_omitted"], Value::Null);

    // The milestone contains the metadata twice: on its own and inside the job.
    let large = json!({
        "skill": "shell",
        "model": "script/bash",
        "prompt": bash("true"),
        "metadata": {"note": "x".repeat(12_000)},
    });
    let large = service.run(&large).await;
    let received = receiver.until(2).await;
    let content = received[1].verify(&webhook.secret).unwrap();
    let data = &content["data"];
    assert_eq!(
        (&data["job"], &data["job_omitted"]),
        (&Value::Null, &json!(true))
    );
    assert_eq!(data["job_id"], large["id"]);
}
