//! Connections: timeouts, and malformed requests.

use super::Raw;
use crate::support::Service;

#[tokio::test]
async fn a_connection_without_a_key_ends_with_its_answer() {
    let service = Service::without_worker().await;
    for request in [
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /v1/jobs HTTP/1.1\r\nHost: h\r\n\r\n",
        // The request announces a body of unknown length that never arrives.
        "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /v1/jobs HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n",
    ] {
        let mut connection = Raw::open(&service).await;
        connection.send(request).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 "), "{request}: {answer}");
        assert!(
            answer.contains("connection: close\r\n"),
            "{request}: {answer}"
        );
    }
}

#[tokio::test]
async fn a_connection_that_says_nothing_ends() {
    let service = Service::without_worker().await;
    let silent = Raw::open(&service).await;
    let mut slow = Raw::open(&service).await;
    slow.send("GET /healthz HTTP/1.1\r\nHos").await;
    let (silent, slow) = tokio::join!(silent.rest(), slow.rest());
    for answer in [silent, slow] {
        assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    }
}

#[tokio::test]
async fn an_upgrade_that_is_not_made_is_not_announced() {
    let service = Service::without_worker().await;
    let mut connection = Raw::open(&service).await;
    let request = format!(
        "GET /v1/jobs HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {}\r\nConnection: Upgrade, HTTP2-Settings\r\n\
         Upgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n\r\n",
        service.key,
    );
    connection.send(&request).await;
    let answer = connection.rest().await;
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.contains("connection: close\r\n"), "{answer}");
    assert!(!answer.contains("pgrade"), "{answer}");
}

#[tokio::test]
async fn what_clients_do_wrong_is_no_error_of_ours() {
    let service = Service::without_worker().await;
    for request in [
        "GET / HTTP/1.1\r\nNo Header\r\n\r\n",
        "nonsense\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: x\r\n\r\n",
    ] {
        let mut connection = Raw::open(&service).await;
        connection.send(request).await;
        let answer = connection.rest().await;
        assert!(answer.starts_with("HTTP/1.1 400 "), "{request}: {answer}");
    }
    let logs = service.logs();
    assert!(!logs.contains("ERROR"), "{logs}");
}
