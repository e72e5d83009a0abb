//! Creation, retrieval, update and deletion of webhooks.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::{Created, without_worker};
use crate::support::problem::Problem;
use crate::support::{create_key, send};

const URL: &str = "http://127.0.0.1:65533/hook";

#[tokio::test]
async fn a_webhook_is_shown_as_it_was_given_and_its_secret_once() {
    let service = without_worker().await;
    let given = json!({
        "url": URL,
        "events": ["job.failed", "asset.created"],
        "skills": ["image"],
        "agents": ["clerk"],
        "description": "the shop",
        "include": "job",
    });
    let request = service.request(Method::POST, "/v1/webhooks").json(&given);
    let response = request.send().await.unwrap();
    let location = response.headers()["location"].to_str().unwrap().to_owned();
    let created: Value = response.json().await.unwrap();
    let secret = created["secret"].as_str().unwrap();
    assert!(
        secret.starts_with("whsec_") && secret.len() == 50,
        "{secret}"
    );
    let (_, mut shown) = service.get(&location).await;
    for field in ["id", "created_at", "updated_at"] {
        assert!(shown[field].take().is_string(), "{field}");
    }
    let expected = json!({
        "id": null,
        "url": URL,
        "description": "the shop",
        // The events are in the order of a job's life cycle.
        "events": ["asset.created", "job.failed"],
        "skills": ["image"],
        "agents": ["clerk"],
        "include": "job",
        "status": "active",
        "disabled_reason": null,
        "disabled_at": null,
        "failing_since": null,
        "last_success_at": null,
        "created_at": null,
        "updated_at": null,
    });
    assert_eq!(shown, expected);
    let (_, page) = service.get("/v1/webhooks").await;
    assert!(page["data"][0]["secret"].is_null());
    assert!(!service.dump().await.contains(&secret[6..]));
}

#[tokio::test]
async fn without_types_there_are_the_ends_and_requests_for_approval() {
    let service = without_worker().await;
    let webhook = Created::with(&service, &json!({"url": URL})).await;
    let webhook = webhook.get(&service).await;
    let events = [
        "approval.requested",
        "job.completed",
        "job.failed",
        "job.cancelled",
    ];
    assert_eq!(webhook["events"], json!(events));
    assert_eq!(webhook["include"], Value::Null);
}

#[tokio::test]
async fn webhooks_are_listed_page_by_page_and_removed() {
    let service = without_worker().await;
    let mut webhooks = Vec::new();
    for name in ["a", "b", "c"] {
        let body = json!({"url": URL, "description": name});
        webhooks.push(Created::with(&service, &body).await);
    }
    let (_, first) = service.get("/v1/webhooks?limit=2").await;
    let cursor = first["next_cursor"].as_str().unwrap();
    let (_, second) = service
        .get(&format!("/v1/webhooks?limit=2&cursor={cursor}"))
        .await;
    let names = |page: &Value| {
        let data = page["data"].as_array().unwrap();
        let names = data.iter().map(|it| it["description"].as_str().unwrap());
        names.map(str::to_owned).collect::<String>()
    };
    assert_eq!((names(&first), names(&second)), ("cb".into(), "a".into()));
    let delete = || service.request(Method::DELETE, &webhooks[0].path).send();
    assert_eq!(delete().await.unwrap().status(), 204);
    assert_eq!(delete().await.unwrap().status(), 404);
    assert_eq!(service.get(&webhooks[0].path).await.0, 404);
}

#[tokio::test]
async fn a_change_keeps_what_it_does_not_name() {
    let service = without_worker().await;
    let body = json!({"url": URL, "skills": ["image"], "include": "job", "description": "a"});
    let webhook = Created::with(&service, &body).await;
    let before = webhook.get(&service).await;
    let change = json!({"events": ["job.started"], "include": null, "status": "paused"});
    let (status, after) = service.patch(&webhook.path, &change).await;
    assert_eq!(status, 200, "{after:#}");
    for (field, value) in [
        ("events", json!(["job.started"])),
        ("include", Value::Null),
        ("status", json!("paused")),
        ("skills", json!(["image"])),
        ("description", json!("a")),
        ("url", json!(URL)),
        ("created_at", before["created_at"].clone()),
    ] {
        assert_eq!(after[field], value, "{field}");
    }
    let (_, back) = service
        .patch(&webhook.path, &json!({"status": "active", "skills": []}))
        .await;
    let shown = (&back["status"], &back["skills"], &back["events"]);
    assert_eq!(
        shown,
        (&json!("active"), &json!([]), &json!(["job.started"]))
    );
}

#[tokio::test]
async fn a_tenant_has_at_most_twenty_webhooks() {
    let service = without_worker().await;
    for _ in 0..20 {
        Created::with(&service, &json!({"url": URL})).await;
    }
    let one_more = service
        .request(Method::POST, "/v1/webhooks")
        .json(&json!({"url": URL}));
    let refused = Problem::of(one_more).await;
    assert_eq!(refused.kind(), (409, "too_many_webhooks"));
}

#[tokio::test]
async fn a_webhook_of_another_tenant_does_not_exist() {
    let service = without_worker().await;
    let webhook = Created::with(&service, &json!({"url": URL})).await;
    let other = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let path = &webhook.path;
    let delivery = "dlv_019aa0c45e8d70008000000000000000";
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PATCH, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::POST, format!("{path}/test")),
        (Method::POST, format!("{path}/rotate")),
        (Method::POST, format!("{path}/recover")),
        (Method::GET, format!("{path}/deliveries")),
        (
            Method::POST,
            format!("{path}/deliveries/{delivery}/redeliver"),
        ),
    ] {
        let request = service.anonymous(method.clone(), &path).bearer_auth(&other);
        let request = request.json(&match (&method, path.ends_with("/recover")) {
            (_, true) => json!({"since": "2026-01-01T00:00:00Z"}),
            _ => json!({}),
        });
        let refused = Problem::of(request).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{method} {path}");
    }
    let list = service.anonymous(Method::GET, "/v1/webhooks");
    let (_, page) = send(list.bearer_auth(&other)).await;
    assert_eq!(page["data"], json!([]));
}
