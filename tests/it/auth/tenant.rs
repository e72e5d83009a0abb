//! Isolation of tenants.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::Method;
use serde_json::{Value, json};
use shared::key::Scope;

use crate::support::problem::Problem;
use crate::support::{Service, bash, create_key, send};

#[tokio::test]
async fn what_is_of_another_tenant_is_not_there() {
    let service = Service::with_maker().await;
    let prompt = bash("echo secret > mine.txt") + "\noutput document: mine.txt";
    let job = service
        .run(&json!({
            "skill": "maker", "model": "script/bash", "prompt": prompt,
            "inputs": [{"name": "in.txt", "data": STANDARD.encode("x")}],
        }))
        .await;
    let id = job["id"].as_str().unwrap();
    let asset = job["outputs"][0]["asset"]["id"].as_str().unwrap();
    // Even a key with the admin scope has access only to its own tenant's resources.
    let other_key = create_key(&service.pool, "other", &[Scope::Jobs, Scope::Admin]).await;
    let ask = |method, path: &str| service.anonymous(method, path).bearer_auth(&other_key);
    for (method, path) in [
        (Method::GET, format!("/v1/jobs/{id}")),
        (Method::GET, format!("/v1/jobs/{id}/events")),
        (Method::GET, format!("/v1/jobs/{id}/stream")),
        (Method::POST, format!("/v1/jobs/{id}/cancel")),
        (Method::POST, format!("/v1/jobs/{id}/retry")),
        (Method::DELETE, format!("/v1/jobs/{id}")),
        (Method::GET, format!("/v1/assets/{asset}")),
        (Method::GET, format!("/v1/assets/{asset}/content")),
        (Method::DELETE, format!("/v1/assets/{asset}")),
    ] {
        let refused = Problem::of(ask(method, &path)).await;
        assert_eq!(refused.kind(), (404, "not_found"), "{path}");
    }
    let (_, list) = send(ask(Method::GET, "/v1/jobs")).await;
    assert_eq!(list, json!({"data": [], "next_cursor": null}));

    assert_eq!(
        service.get(&format!("/v1/jobs/{id}")).await.1,
        job,
        "nothing has happened to it"
    );
    assert_eq!(
        service.download(&job["outputs"][0]["asset"]).await,
        b"secret\n"
    );
}

#[tokio::test]
async fn another_tenant_cannot_stop_a_job_that_has_not_ended() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let other_key = create_key(&service.pool, "other", &[Scope::Jobs]).await;
    for (method, path) in [
        (Method::POST, format!("/v1/jobs/{job}/cancel")),
        (Method::GET, format!("/v1/jobs/{job}/stream")),
        (Method::DELETE, format!("/v1/jobs/{job}")),
    ] {
        let request = service.anonymous(method, &path).bearer_auth(&other_key);
        assert_eq!(
            Problem::of(request).await.kind(),
            (404, "not_found"),
            "{path}"
        );
    }
    assert_eq!(
        service.get(&format!("/v1/jobs/{job}")).await.1["status"],
        "queued"
    );
}

#[tokio::test]
async fn a_tenants_name_is_its_own() {
    let service = Service::without_worker().await;
    let (status, tenant) = service
        .post("/v1/tenants", &json!({"name": " acme "}))
        .await;
    assert_eq!((status.as_u16(), &tenant["name"]), (201, &json!("acme")));
    let taken = Problem::of(
        service
            .request(Method::POST, "/v1/tenants")
            .json(&json!({"name": "acme"})),
    );
    let taken = taken.await;
    assert_eq!(taken.kind(), (409, "tenant_name_taken"));
    assert_eq!(
        taken.detail(),
        "a tenant named `acme` already exists; choose another name"
    );
    let (_, list) = service.get("/v1/tenants").await;
    assert_eq!(names(&list), ["acme", "default"]);
}

#[tokio::test]
async fn the_pages_of_the_tenants_have_every_tenant_once_by_name() {
    let service = Service::without_worker().await;
    for name in ["d", "ü", "a", "zwei drei"] {
        service.post("/v1/tenants", &json!({"name": name})).await;
    }
    let (_, all) = service.get("/v1/tenants").await;
    let (_, first) = service.get("/v1/tenants?limit=2").await;
    let mut seen = names(&first);
    let mut cursor = first["next_cursor"].clone();
    while let Some(next) = cursor.as_str() {
        let (_, page) = service
            .get(&format!("/v1/tenants?limit=2&cursor={next}"))
            .await;
        seen.extend(names(&page));
        cursor = page["next_cursor"].clone();
    }
    assert_eq!(seen, names(&all));
    assert_eq!(seen.len(), 5);
}

fn names(page: &Value) -> Vec<String> {
    let tenants = page["data"].as_array().unwrap().iter();
    tenants
        .map(|tenant| tenant["name"].as_str().unwrap().to_owned())
        .collect()
}
