//! Rejected webhooks, with the field that is invalid.

use reqwest::Method;
use serde_json::{Value, json};

use super::{ALLOW, without_worker};
use crate::support::problem::Problem;
use crate::support::{Service, bash};

async fn pointers(service: &Service, path: &str, body: &Value) -> Vec<String> {
    let request = service.request(Method::POST, path).json(body);
    let refused = Problem::of(request).await;
    assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
    let errors = refused.errors();
    errors
        .iter()
        .map(|(pointer, _)| (*pointer).to_owned())
        .collect()
}

#[tokio::test]
async fn each_error_names_its_field() {
    let service = without_worker().await;
    for (fields, expected) in [
        (json!({"url": "example.com"}), &["/url"][..]),
        (json!({"url": "https://example.com:25/"}), &["/url"]),
        (json!({"url": "https://me:secret@example.com/"}), &["/url"]),
        (json!({"events": []}), &["/events"]),
        (
            json!({"events": ["job.*", "job.queued"]}),
            &["/events/0", "/events/1"],
        ),
        (json!({"events": vec!["job.completed"; 10]}), &["/events"]),
        (json!({"skills": ["a", "No such name"]}), &["/skills/1"]),
        (json!({"agents": vec!["a"; 51]}), &["/agents"]),
        (json!({"description": "x".repeat(201)}), &["/description"]),
        (json!({"include": "everything"}), &["/include"]),
        (
            json!({"url": "ftp://a", "events": ["x"]}),
            &["/url", "/events/0"],
        ),
    ] {
        let mut body = json!({"url": "http://127.0.0.1:65533/"});
        body.as_object_mut()
            .unwrap()
            .extend(fields.as_object().unwrap().clone());
        assert_eq!(
            pointers(&service, "/v1/webhooks", &body).await,
            expected,
            "{fields}"
        );
    }
}

#[tokio::test]
async fn a_private_address_is_refused_when_a_webhook_is_made_and_for_a_job() {
    let service = Service::without_worker().await;
    for url in [
        "https://127.0.0.1/",
        "https://10.0.0.1/",
        "https://169.254.169.254/latest/meta-data",
        "https://[::1]/",
        "https://localhost/",
        "http://127.0.0.1:8000/",
        "http://1.1.1.1/",
    ] {
        let body = json!({"url": url});
        assert_eq!(
            pointers(&service, "/v1/webhooks", &body).await,
            ["/url"],
            "{url}"
        );
        let job = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true")});
        for (webhook, pointer) in [
            (json!(url), "/webhook"),
            (json!({"url": url}), "/webhook/url"),
        ] {
            let mut job = job.clone();
            job["webhook"] = webhook;
            assert_eq!(
                pointers(&service, "/v1/jobs", &job).await,
                [pointer],
                "{url}"
            );
            let batch = json!({"jobs": [job]});
            let expected = format!("/jobs/0{pointer}");
            assert_eq!(
                pointers(&service, "/v1/jobs/batch", &batch).await,
                [expected]
            );
            let schedule = json!({"name": "a", "interval_seconds": 60, "job": batch["jobs"][0]});
            let expected = format!("/job{pointer}");
            assert_eq!(
                pointers(&service, "/v1/schedules", &schedule).await,
                [expected]
            );
        }
    }
}

#[tokio::test]
async fn an_unencrypted_address_must_be_in_a_network_that_the_operator_opened() {
    let service = without_worker().await;
    let request = service
        .request(Method::POST, "/v1/webhooks")
        .json(&json!({"url": "http://1.1.1.1/"}));
    let refused = Problem::of(request).await;
    let (pointer, detail) = refused.errors()[0];
    assert_eq!(pointer, "/url");
    assert!(
        detail.contains("https://") && detail.contains("--webhook-allow"),
        "{detail}"
    );
}

#[tokio::test]
async fn without_a_master_key_there_are_no_webhooks() {
    let service = Service::with_environment(&[ALLOW, ("SKILLET_MASTER_KEY", "")]).await;
    let request = service
        .request(Method::POST, "/v1/webhooks")
        .json(&json!({"url": "http://127.0.0.1:65533/"}));
    let refused = Problem::of(request).await;
    assert_eq!(refused.kind(), (503, "not_configured"));
    assert!(refused.detail().contains("SKILLET_MASTER_KEY"));
    let job = json!({
        "skill": "shell",
        "model": "script/bash",
        "prompt": bash("true"),
        "webhook": "http://127.0.0.1:65533/",
    });
    assert_eq!(pointers(&service, "/v1/jobs", &job).await, ["/webhook"]);
}
