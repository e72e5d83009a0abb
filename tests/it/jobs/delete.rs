//! Deleting a job and its data.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::problem::Problem;
use crate::support::{Service, bash};

#[tokio::test]
async fn a_job_is_removed_when_it_has_ended_and_not_before() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}");
    let refused = Problem::of(service.request(Method::DELETE, &path)).await;
    assert_eq!(refused.kind(), (409, "job_not_finished"));
    assert_eq!(service.get(&path).await.0, 200, "nothing was removed");

    service.post(&format!("{path}/cancel"), &Value::Null).await;
    remove(&service, &path).await;
    for (method, path) in [
        (Method::GET, path.clone()),
        (Method::GET, format!("{path}/events")),
        (Method::GET, format!("{path}/stream")),
        (Method::POST, format!("{path}/cancel")),
        (Method::POST, format!("{path}/retry")),
        (Method::DELETE, path),
    ] {
        let gone = Problem::of(service.request(method, &path)).await;
        assert_eq!(gone.kind(), (404, "not_found"), "{path}");
    }
    assert_eq!(service.get("/v1/jobs").await.1["data"], json!([]));
    let events = sqlx::query_scalar::<_, i64>("select count(*) from job_event");
    assert_eq!(events.fetch_one(&service.pool).await.unwrap(), 0);
}

/// Sends more requests at once than the API has database connections. A request that holds one must not wait for
/// another.
#[tokio::test]
async fn many_at_once_who_come_too_early_are_all_told_so() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}");
    let remove = || Problem::of(service.request(Method::DELETE, &path));
    for refused in join_all((0..60).map(|_| remove())).await {
        assert_eq!(refused.kind(), (409, "job_not_finished"));
    }
}

#[tokio::test]
async fn the_files_of_a_job_go_with_it_and_their_bytes_unless_another_file_has_them() {
    let service = Service::with_maker().await;
    let upload = service.upload("mine.txt", "shared").await;
    let prompt = bash("printf shared > same.txt; printf alone > own.txt")
        + "\noutput document: same.txt\noutput document: own.txt";
    let job = service
        .run(&json!({
            "skill": "maker", "model": "script/bash", "prompt": prompt,
            "inputs": [{"asset_id": upload["id"]}, {"name": "sent.txt", "data": STANDARD.encode("sent along")}],
        }))
        .await;
    let [same, own] = [0, 1].map(|place| job["outputs"][place]["asset"].clone());
    assert_eq!(
        (&same["sha256"], &own["name"]),
        (&upload["sha256"], &json!("own.txt")),
        "{job:#}"
    );
    let sent = sent_along(&service).await;
    assert!(service.blob(&own["sha256"]).exists() && service.blob(&sent).exists());

    remove(
        &service,
        &format!("/v1/jobs/{}", job["id"].as_str().unwrap()),
    )
    .await;
    for asset in [&same, &own] {
        let path = format!("/v1/assets/{}", asset["id"].as_str().unwrap());
        for path in [path.clone(), path + "/content"] {
            assert_eq!(
                Problem::of(service.request(Method::GET, &path))
                    .await
                    .status,
                404
            );
        }
    }
    assert!(!service.blob(&own["sha256"]).exists() && !service.blob(&sent).exists());
    assert_eq!(service.download(&upload).await, b"shared");

    remove(
        &service,
        &format!("/v1/assets/{}", upload["id"].as_str().unwrap()),
    )
    .await;
    assert!(!service.blob(&upload["sha256"]).exists());
}

async fn remove(service: &Service, path: &str) {
    let response = service.request(Method::DELETE, path).send().await.unwrap();
    assert_eq!(response.status(), 204, "{path}");
    assert_eq!(response.bytes().await.unwrap(), "");
}

/// Returns the hash of the inline input file, which the job does not list.
async fn sent_along(service: &Service) -> Value {
    let hash = sqlx::query_scalar::<_, String>(
        "select encode(sha256, 'hex') from asset where name = 'sent.txt'",
    );
    json!(hash.fetch_one(&service.pool).await.unwrap())
}
