//! Jobs that were accepted by an API of the next release, claimed by a worker of this one.

use serde_json::{Value, json};

use super::{execute, modernize, put_agent, restore, urgent};
use crate::support::Service;
use crate::support::log::{assert_whole, data, types};

#[tokio::test]
async fn a_job_that_a_worker_cannot_read_is_handed_back_alone_and_waits_for_one_that_can() {
    let mut service = Service::without_worker().await;
    put_agent(&service, "next").await;
    let mut newer = Vec::new();
    for number in 0..3 {
        let command = format!("echo newer {number}");
        newer.push(service.create(&urgent("next", &command)).await);
    }
    let mut others = Vec::new();
    for number in 0..3 {
        others.push(service.create_shell(&format!("echo {number}")).await);
    }
    modernize(&service, &newer[0]).await;
    let model = "update job set model = 'the model of the next release' where id = $1";
    execute(&service, model, &newer[1]).await;
    let metadata = "update job set metadata = '[1]' where id = $1";
    execute(&service, metadata, &newer[2]).await;

    // One claim takes all of these jobs.
    service.add_worker(&[("SKILLET_SLOTS", "8")]).await;
    for (number, job) in others.iter().enumerate() {
        let ended = service.finished(job).await;
        assert_eq!(
            (&ended["text"], &ended["attempt"]),
            (&json!(number.to_string()), &json!(1)),
            "{ended:#}"
        );
    }
    for job in &newer {
        let events = service.until_event(job, "job.retrying").await;
        assert_eq!(types(&events)[..2], ["job.queued", "job.retrying"]);
        assert_eq!(data(&events, "job.retrying")[0]["cause"], "unreadable");
        let (status, shown) = service.get(&format!("/v1/jobs/{job}")).await;
        assert_eq!((status.as_u16(), &shown["error"]), (200, &Value::Null));
    }
    let (_, listed) = service.get("/v1/jobs").await;
    assert_eq!(listed["data"].as_array().unwrap().len(), 6);
    let model = &listed["data"][4]["model"];
    assert_eq!(model, "the model of the next release");

    // Simulate a worker that can read the job. The earlier unreadable claims do not count against the job.
    restore(&service, &newer[0]).await;
    let due = "update run set run_at = now(), unreadable = 18 where job_id = $1";
    execute(&service, due, &newer[0]).await;
    let ended = service.finished(&newer[0]).await;
    assert_eq!(ended["text"], "newer 0", "{ended:#}\n{}", service.logs());
    assert_whole(&service.events(&newer[0]).await);
    assert!(
        !service.logs().contains("cannot claim"),
        "{}",
        service.logs()
    );
}

#[tokio::test]
async fn a_job_that_no_worker_can_read_for_hours_fails_and_says_so() {
    let mut service = Service::without_worker().await;
    put_agent(&service, "next").await;
    let job = service.create(&urgent("next", "echo never")).await;
    modernize(&service, &job).await;
    let tried = "update run set unreadable = 19 where job_id = $1";
    execute(&service, tried, &job).await;
    service.add_worker(&[]).await;
    let ended = service.finished(&job).await;
    assert_eq!(
        (&ended["status"], &ended["error"]["code"]),
        (&json!("failed"), &json!("job_unreadable")),
        "{ended:#}"
    );
    assert_eq!(ended["error"]["retryable"], true);
    let events = service.events(&job).await;
    assert_whole(&events);
    assert_eq!(types(&events), ["job.queued", "job.failed"]);
    let (status, refused) = service
        .post(&format!("/v1/jobs/{job}/retry"), &Value::Null)
        .await;
    assert_eq!(
        (status.as_u16(), &refused["code"]),
        (409, &json!("job_unreadable"))
    );
}

#[tokio::test]
async fn a_job_that_was_handed_back_can_be_cancelled() {
    let mut service = Service::without_worker().await;
    put_agent(&service, "next").await;
    let job = service.create(&urgent("next", "echo never")).await;
    modernize(&service, &job).await;
    let model = "update job set model = '?' where id = $1";
    execute(&service, model, &job).await;
    service.add_worker(&[]).await;
    service.until_event(&job, "job.retrying").await;
    let path = format!("/v1/jobs/{job}/cancel");
    let (status, _) = service.post(&path, &Value::Null).await;
    assert_eq!(status, 200);
    assert_eq!(service.finished(&job).await["status"], "cancelled");
    assert_whole(&service.events(&job).await);
}
