//! Changing queued jobs.

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use shared::id::JobId;

use crate::support::problem::Problem;
use crate::support::{Service, bash, create_key, send};

#[tokio::test]
async fn a_queued_job_can_be_changed_and_goes_by_what_it_says_then() {
    let mut service = Service::without_worker().await;
    let create = async |priority: i32| {
        let body = json!({"skill": "shell", "model": "script/bash", "prompt": bash("true"), "priority": priority});
        service.create(&body).await
    };
    let (first, second) = (create(5).await, create(0).await);
    let path = |job: &str| format!("/v1/jobs/{job}");
    let (status, changed) = service
        .patch(
            &path(&second),
            &json!({"priority": 9, "metadata": {"a": 1}}),
        )
        .await;
    assert_eq!(status, 200, "{changed:#}");
    assert_eq!(changed["metadata"], json!({"a": 1}));
    let (_, request) = service.get(&format!("{}/request", path(&second))).await;
    assert_eq!(request["priority"], 9);

    let rank = "select job_id from run order by rank limit 1";
    let rank = sqlx::query_scalar::<_, JobId>(rank).fetch_one(&service.pool);
    assert_eq!(rank.await.unwrap(), second.parse().unwrap());

    let later = json!({"run_at": "2126-01-01T00:00:00Z"});
    let (_, scheduled) = service.patch(&path(&second), &later).await;
    assert_eq!(scheduled["queue"]["reason"], "scheduled");
    assert_eq!(scheduled["metadata"], json!({"a": 1}));
    let (_, same) = service.patch(&path(&second), &json!({"priority": 3})).await;
    assert_eq!(same["queue"], scheduled["queue"]);
    service.add_worker(&[]).await;
    assert_eq!(service.finished(&first).await["status"], "completed");
    let (_, waits) = service.get(&path(&second)).await;
    assert_eq!(waits["status"], "queued");
    let (status, _) = service
        .patch(&path(&second), &json!({"run_at": "2020-01-01T00:00:00Z"}))
        .await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(service.finished(&second).await["status"], "completed");
}

#[tokio::test]
async fn a_job_that_is_not_queued_or_another_tenants_cannot_be_changed() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}");
    let patch = |body: Value| service.request(Method::PATCH, &path).json(&body);
    for (body, pointer) in [
        (json!({"priority": 101}), "/priority"),
        (json!({"run_at": "soon"}), "/run_at"),
        (json!({"metadata": []}), "/metadata"),
        (json!({"prompt": "x"}), "/prompt"),
    ] {
        let refused = Problem::of(patch(body.clone())).await;
        assert_eq!(refused.kind(), (422, "invalid_request"), "{body}");
        assert_eq!(refused.errors()[0].0, pointer, "{body}");
    }
    let other = create_key(&service.pool, "others", &[shared::key::Scope::Jobs]).await;
    let as_other = service.anonymous(Method::PATCH, &path).bearer_auth(other);
    let absent = Problem::of(as_other.json(&json!({"priority": 1}))).await;
    assert_eq!(absent.kind(), (404, "not_found"));
    service.post(&format!("{path}/cancel"), &Value::Null).await;
    for body in [
        json!({"priority": 1}),
        json!({"priority": 1, "metadata": {}}),
        json!({}),
    ] {
        let ended = Problem::of(patch(body)).await;
        assert_eq!(ended.kind(), (409, "job_not_queued"));
    }
}

#[tokio::test]
async fn the_metadata_of_a_job_can_be_changed_in_any_state() {
    let service = Service::start().await;
    let body = json!({
        "skill": "shell", "model": "script/bash", "prompt": bash("echo hi"), "metadata": {"order": 1},
    });
    let job = service.create(&body).await;
    service.finished(&job).await;
    let path = format!("/v1/jobs/{job}");
    let (status, changed) = service
        .patch(&path, &json!({"metadata": {"order": 2}}))
        .await;
    assert_eq!(
        (status, &changed["status"]),
        (StatusCode::OK, &json!("completed"))
    );
    assert_eq!(changed["metadata"], json!({"order": 2}));
    assert_eq!(changed["text"], "hi");
    for (order, count) in [(1, 0), (2, 1)] {
        let (_, found) = service
            .get(&format!("/v1/jobs?metadata.order={order}"))
            .await;
        assert_eq!(found["data"].as_array().unwrap().len(), count);
    }
    let waiting = Service::without_worker().await;
    let job = waiting.create(&body).await;
    let path = format!("/v1/jobs/{job}");
    let (_, changed) = waiting.patch(&path, &json!({"metadata": {}})).await;
    assert_eq!(
        (&changed["status"], &changed["metadata"]),
        (&json!("queued"), &json!({}))
    );
}

#[tokio::test]
async fn a_tenant_without_jobs_and_files_can_be_deleted() {
    let service = Service::without_worker().await;
    let (_, tenant) = service.post("/v1/tenants", &json!({"name": "acme"})).await;
    let path = format!("/v1/tenants/{}", tenant["id"].as_str().unwrap());
    let key = json!({"tenant_id": tenant["id"], "name": "ci"});
    let (_, key) = service.post("/v1/keys", &key).await;
    let as_tenant = |method: Method, path: &str| {
        service
            .anonymous(method, path)
            .bearer_auth(key["token"].as_str().unwrap())
    };
    let agent = as_tenant(Method::PUT, "/v1/agents/own").json(&json!({"soul": "I am."}));
    assert_eq!(send(agent).await.0, 201);
    let body = json!({"skill": "shell", "model": "script/bash", "prompt": "x"});
    let (_, job) = send(as_tenant(Method::POST, "/v1/jobs").json(&body)).await;
    let job = format!("/v1/jobs/{}", job["id"].as_str().unwrap());
    let in_use = Problem::of(service.request(Method::DELETE, &path)).await;
    assert_eq!(in_use.kind(), (409, "tenant_in_use"));
    send(as_tenant(Method::POST, &format!("{job}/cancel"))).await;
    assert_eq!(send(as_tenant(Method::DELETE, &job)).await.0, 204);
    assert_eq!(send(service.request(Method::DELETE, &path)).await.0, 204);
    assert_eq!(send(as_tenant(Method::GET, "/v1/jobs")).await.0, 401);
    let absent = Problem::of(service.request(Method::DELETE, &path)).await;
    assert_eq!(absent.kind(), (404, "not_found"));
    let (_, me) = service.get("/v1/me").await;
    let own = format!("/v1/tenants/{}", me["tenant"]["id"].as_str().unwrap());
    let own = Problem::of(service.request(Method::DELETE, &own)).await;
    assert_eq!(own.kind(), (409, "tenant_in_use"));
}
