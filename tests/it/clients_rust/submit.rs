//! Submission over broken connections.

use serde_json::Value;
use shared::event::{ApprovalStatus, Event, EventData};
use skillet_client::{Client, Error, Timing};

use super::proxy::{Fault, Proxy};
use super::{client_of, shell};
use crate::support::Service;

#[tokio::test]
async fn a_lost_answer_creates_one_job() {
    let service = Service::without_worker().await;
    let faults = [
        Fault::LoseAnswer,
        Fault::Answer("503 Service Unavailable", "", ""),
    ];
    let proxy = Proxy::start(&service, "POST /v1/jobs", faults).await;
    let client = client_of(&service, &proxy.url);
    let job = client.submit(shell("true")).await.unwrap();
    let jobs: Vec<Value> = client.list("/v1/jobs", &[], None).await.unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!(jobs[0]["id"], job.id.to_string());
    let received = proxy.received();
    let keys: Vec<_> = received
        .iter()
        .map(|it| &it.headers["idempotency-key"])
        .collect();
    assert_eq!(keys.len(), 3);
    assert!(keys.iter().all(|key| *key == keys[0] && key.len() == 32));
}

#[tokio::test]
async fn a_key_of_the_program_creates_one_job() {
    let service = Service::without_worker().await;
    let client = client_of(&service, &service.url);
    let submit = || client.submit(shell("true")).idempotency_key("order-7");
    assert_eq!(submit().await.unwrap().id, submit().await.unwrap().id);
}

#[tokio::test]
async fn a_refused_job_names_its_fields_and_is_not_sent_again() {
    let service = Service::without_worker().await;
    let proxy = Proxy::start(&service, "POST /v1/jobs", []).await;
    let client = client_of(&service, &proxy.url);
    let mut job = shell("true");
    job.max_attempts = Some(1000);
    let refused = client.submit(job).await;
    let Err(Error::Service(refusal)) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(
        (refusal.status, refusal.code()),
        (422, Some("invalid_request"))
    );
    assert!(refusal.to_string().contains("/max_attempts"), "{refusal}");
    assert_eq!(proxy.received().len(), 1);
}

#[tokio::test]
async fn a_service_that_is_away_is_reported_after_all_attempts() {
    let service = Service::without_worker().await;
    let gone = || Fault::Answer("503 Service Unavailable", "", "<h1>gone</h1>");
    let proxy = Proxy::start(&service, "/v1/me", (0..6).map(|_| gone())).await;
    let refused = client_of(&service, &proxy.url)
        .get::<Value>("/v1/me", &[])
        .await;
    assert!(matches!(refused, Err(Error::Service(it)) if it.status == 503 && it.problem.is_none()));
    assert_eq!(proxy.received().len(), 6);
    let timing = Timing {
        attempts: 1,
        ..Timing::default()
    };
    let nobody = Client::builder("http://127.0.0.1:9", "sk_x").timing(timing);
    let nobody = nobody.build().unwrap();
    let error = nobody.submit(shell("true")).await.unwrap_err();
    assert_eq!(error.to_string(), "cannot reach http://127.0.0.1:9");
}

#[tokio::test]
async fn a_run_can_be_a_task_and_an_approval_that_counted_is_no_conflict() {
    let service = Service::start().await;
    let proxy = Proxy::start(&service, "POST /v1/approvals", [Fault::LoseAnswer]).await;
    let client = client_of(&service, &proxy.url);
    let mut job = shell("echo allowed");
    job.hooks.confirm = vec!["shell.exec".to_owned()];
    let task = tokio::spawn(async move {
        let client = &client;
        let approve = |event: Event| async move {
            if let Ok(EventData::ApprovalRequested(request)) = event.parse() {
                let approved = client.approve(request.approval_id, None).await.unwrap();
                assert_eq!(approved.status, ApprovalStatus::Approved);
            }
        };
        client.run(job).on_event(approve).await
    });
    let job = task.await.unwrap().unwrap();
    assert_eq!(job.result.text.as_deref(), Some("allowed"));
    assert_eq!(proxy.received().len(), 2);
}
