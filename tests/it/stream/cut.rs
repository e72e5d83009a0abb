//! Streams that end before their job.

use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpSocket;
use tokio::time::timeout;

use crate::support::{Service, Stream, bash};
use shared::id::JobId;

/// Longer than two keep-alive intervals of an idle stream.
const TIMEOUT: Duration = Duration::from_secs(40);

#[tokio::test]
async fn a_follower_that_is_behind_when_the_job_is_deleted_is_let_go() {
    let service = Service::start().await;
    // About 11 MB in total, which is more than the buffers between the job and a client that does not read can hold.
    let commands = (0..30).map(|_| bash("seq 1 30000"));
    let prompt = commands.collect::<Vec<_>>().join("\n");
    let job = json!({"skill": "shell", "model": "script/bash", "prompt": prompt, "limits": {"max_iterations": 40}});
    let job = service.create(&job).await;
    // A client with a small receive buffer, which does not read yet.
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let address = service.url.trim_start_matches("http://").parse().unwrap();
    let mut connection = socket.connect(address).await.unwrap();
    let request = format!(
        "GET /v1/jobs/{job}/stream HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {}\r\n\r\n",
        service.key
    );
    connection.write_all(request.as_bytes()).await.unwrap();
    // Another client follows the job to its end.
    service.follow(&job, 0).await.rest_raw().await;
    let gone = service.request(Method::DELETE, &format!("/v1/jobs/{job}"));
    assert_eq!(gone.send().await.unwrap().status(), 204);

    let mut bytes = Vec::new();
    let read = timeout(TIMEOUT, connection.read_to_end(&mut bytes)).await;
    drop(read.expect("the stream goes on"));
    let text = String::from_utf8_lossy(&bytes);
    assert!(text.contains("event: job.queued"), "it had begun");
    assert!(!text.contains("event: job.completed"), "it was behind");
    assert!(
        !text.ends_with("0\r\n\r\n"),
        "only the end of a job ends a stream cleanly"
    );
}

#[tokio::test]
async fn a_follower_of_a_job_that_goes_without_an_event_is_let_go() {
    let service = Service::without_worker().await;
    let job = service.create_shell("true").await;
    let mut stream = service.follow(&job, 0).await;
    assert_eq!(stream.next().await.unwrap()["type"], "job.queued");
    for delete in [
        "delete from run where job_id = $1",
        "delete from job_event where job_id = $1",
        "delete from job where id = $1",
    ] {
        let delete = sqlx::query(delete).bind(job.parse::<JobId>().unwrap());
        assert_eq!(
            delete.execute(&service.pool).await.unwrap().rows_affected(),
            1
        );
    }
    let next = timeout(TIMEOUT, stream.next_raw()).await;
    assert_eq!(next.expect("the stream goes on"), None);
}

#[tokio::test]
async fn a_stream_ends_when_its_key_is_revoked() {
    let service = Service::without_worker().await;
    let (_, made) = service.post("/v1/keys", &json!({"name": "lost"})).await;
    let job = service.create_shell("true").await;
    let path = format!("/v1/jobs/{job}/stream");
    let lost = service.anonymous(Method::GET, &path);
    let lost = lost.bearer_auth(made["token"].as_str().unwrap());
    let mut lost = Stream::open(lost).await;
    let mut kept = service.follow(&job, 0).await;
    for stream in [&mut lost, &mut kept] {
        assert_eq!(stream.next().await.unwrap()["type"], "job.queued");
    }
    let key = format!("/v1/keys/{}", made["id"].as_str().unwrap());
    let revoked = service.request(Method::DELETE, &key).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    let next = timeout(TIMEOUT, lost.next_raw()).await;
    assert_eq!(next.expect("the stream goes on"), None);

    service
        .post(&format!("/v1/jobs/{job}/cancel"), &Value::Null)
        .await;
    assert_eq!(kept.next().await.unwrap()["type"], "job.cancelled");
    assert_eq!(kept.next().await, None);
}
