//! Rejected schedules, and schedules of other tenants.

use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use super::{create, hourly, hourly_with};
use crate::support::problem::Problem;
use crate::support::{Service, create_key};

#[tokio::test]
async fn each_error_names_its_field() {
    let service = Service::without_worker().await;
    let mut job = hourly("a")["job"].clone();
    job["run_at"] = json!("2030-01-01T00:00:00Z");
    job["inputs"] = json!([{"data": "YQ==", "name": "a.txt"}]);
    for (fields, pointers) in [
        (json!({"name": " "}), &["/name"][..]),
        (json!({"cron": "@daily"}), &["/interval_seconds"]),
        (json!({"interval_seconds": null}), &[""]),
        (json!({"interval_seconds": 9}), &["/interval_seconds"]),
        (
            json!({"interval_seconds": null, "cron": "61 * * * *"}),
            &["/cron"],
        ),
        (
            json!({"interval_seconds": null, "cron": "* * * * * *"}),
            &["/cron"],
        ),
        (
            json!({"interval_seconds": null, "cron": "0 0 30 2 *"}),
            &["/cron"],
        ),
        (
            json!({"interval_seconds": null, "cron": "@daily", "time_zone": "Berlin"}),
            &["/time_zone"],
        ),
        (json!({"time_zone": "UTC"}), &["/time_zone"]),
        (json!({"ends_at": "2020-01-01T00:00:00Z"}), &["/ends_at"]),
        (json!({"starts_at": "soon"}), &["/starts_at"]),
        (
            json!({"jitter_seconds": 3601, "catch_up_limit": 0}),
            &["/catch_up_limit", "/jitter_seconds"],
        ),
        (json!({"overlap": "allow"}), &["/overlap"]),
        (json!({"catch_up": "two"}), &["/catch_up"]),
        (
            json!({"job": {"skill": "none", "prompt": "a", "model": "script/bash"}}),
            &["/job/skill"],
        ),
        (
            json!({"job": {"skill": "shell", "prompt": 7}}),
            &["/job/prompt"],
        ),
        (
            json!({"name": "", "job": {"skill": "shell", "prompt": " ", "model": "script/bash"}}),
            &["/name", "/job/prompt"],
        ),
        (json!({"job": job}), &["/job/run_at", "/job/inputs/0/data"]),
    ] {
        let request = service.request(Method::POST, "/v1/schedules");
        let refused = Problem::of(request.json(&hourly_with("a", fields.clone()))).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{fields}");
        let found: Vec<_> = refused
            .errors()
            .iter()
            .map(|(pointer, _)| (*pointer).to_owned())
            .collect();
        assert_eq!(found, pointers, "{fields} {:#}", refused.body);
    }
}

#[tokio::test]
async fn a_name_is_taken_once_and_a_wrong_change_changes_nothing() {
    let service = Service::without_worker().await;
    create(&service, &hourly("a")).await;
    let path = create(&service, &hourly("b")).await;
    let again = service
        .request(Method::POST, "/v1/schedules")
        .json(&hourly("a"));
    assert_eq!(
        Problem::of(again).await.kind(),
        (409, "schedule_name_taken")
    );
    let patch = |body: Value| service.request(Method::PATCH, &path).json(&body);
    let taken = Problem::of(patch(json!({"name": "a"}))).await;
    assert_eq!(taken.kind(), (409, "schedule_name_taken"));
    for (change, pointer) in [
        (json!({"cron": "no"}), "/cron"),
        (json!({"time_zone": "UTC"}), "/time_zone"),
        (
            json!({"job": {"skill": "none", "prompt": "a", "model": "script/bash"}}),
            "/job/skill",
        ),
    ] {
        let refused = Problem::of(patch(change)).await;
        assert_eq!((refused.status, refused.errors()[0].0), (422, pointer));
    }
    let (_, schedule) = service.get(&path).await;
    assert_eq!(
        (&schedule["name"], &schedule["interval_seconds"]),
        (&json!("b"), &json!(3600))
    );
}

#[tokio::test]
async fn the_schedule_of_another_tenant_does_not_exist() {
    let service = Service::without_worker().await;
    let path = create(&service, &hourly("a")).await;
    let key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    let as_other = |method, path: &str| service.anonymous(method, path).bearer_auth(&key);
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::PATCH, path.clone()),
        (Method::DELETE, path.clone()),
        (Method::GET, format!("{path}/runs")),
        (Method::POST, format!("{path}/run")),
    ] {
        let refused = Problem::of(as_other(method.clone(), &path).json(&json!({}))).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{method} {path}");
    }
    let list: Value = as_other(Method::GET, "/v1/schedules")
        .send()
        .await
        .unwrap()
        .json()
        .await
        .unwrap();
    assert_eq!(list["data"], json!([]));
    let theirs = as_other(Method::POST, "/v1/schedules").json(&hourly("a"));
    assert_eq!(theirs.send().await.unwrap().status(), 201);
}
