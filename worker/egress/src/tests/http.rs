//! Tests of plain HTTP through the proxy.

use super::*;

/// A server that answers each request and records everything that it receives.
struct Web {
    address: SocketAddr,
    heard: Arc<Mutex<String>>,
    _serving: JoinSet<()>,
}

impl Web {
    /// Starts a server that answers when it has received `end`.
    async fn start(end: &'static str) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let heard: Arc<Mutex<String>> = Arc::default();
        let mut serving = JoinSet::new();
        let keep = heard.clone();
        serving.spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut bytes = Vec::new();
                while !bytes.ends_with(end.as_bytes()) {
                    if client.read_buf(&mut bytes).await.unwrap() == 0 {
                        break;
                    }
                }
                client
                    .write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nhi")
                    .await
                    .unwrap();
                // Bytes after the request would be a request to another host.
                let more = timeout(Duration::from_millis(100), client.read_to_end(&mut bytes));
                let _ = more.await;
                *keep.lock().unwrap() = String::from_utf8(bytes).unwrap();
            }
        });
        Self {
            address,
            heard,
            _serving: serving,
        }
    }

    fn way(&self, words: &str) -> RunningEgress {
        RunningEgress::open(words, Names::default().with("web.test", &[self.address]))
    }
}

/// Returns the proxy's answer to a client that waits for it before it ends.
async fn ask(way: &RunningEgress, request: &str) -> String {
    let mut client = way.proxy().await;
    client.write_all(request.as_bytes()).await.unwrap();
    String::from_utf8(read_all(&mut client).await).unwrap()
}

#[tokio::test]
async fn a_request_is_rewritten_for_the_host_and_the_connection_ends_with_it() {
    let server = Web::start("hello").await;
    let way = server.way("web.test");
    let request = "POST http://web.test/a?b HTTP/1.1\r\nHost: web.test\r\nProxy-Authorization: x\r\n\
        Connection: keep-alive\r\nContent-Length: 5\r\n\r\nhello\
        GET http://web.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n";
    let answer = ask(&way, request).await;
    assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
    let heard = timeout(TIMEOUT, async {
        loop {
            let heard = server.heard.lock().unwrap().clone();
            if !heard.is_empty() {
                return heard;
            }
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(
        heard.await.unwrap(),
        "POST /a?b HTTP/1.1\r\nhost: web.test\r\nContent-Length: 5\r\nconnection: close\r\n\r\nhello"
    );
    assert_eq!(way.lookups(), ["web.test:80"]);
}

#[tokio::test]
async fn a_chunked_body_goes_through() {
    let server = Web::start("0\r\n\r\n").await;
    let way = server.way("web.test");
    let request = "PUT http://web.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let answer = ask(&way, request).await;
    assert!(answer.ends_with("\r\n\r\nhi"), "{answer}");
}

#[tokio::test]
async fn a_refused_host_is_named_over_plain_http_too() {
    let server = Web::start("\r\n\r\n").await;
    let way = server.way("web.test:443");
    let answer = ask(&way, "GET http://web.test/ HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.starts_with("HTTP/1.1 403 ")
            && answer.ends_with("web.test:80 is refused. This job may reach web.test:443.\n"),
        "{answer}"
    );
    assert_eq!(way.egress.refused(), ["web.test:80"]);
    assert!(way.lookups().is_empty());
}

#[tokio::test]
async fn the_answer_to_a_malformed_request_says_what_is_wrong() {
    let way = RunningEgress::open("public", Names::default());
    let long = format!("GET http://a.test/ HTTP/1.1\r\nX: {}", "x".repeat(20_000));
    for (request, status, text) in [
        (
            "GET http://a.test/ HTTP/1.1\r\nHost: b.test\r\n\r\n",
            "400",
            "its Host header differs from its target",
        ),
        (
            "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n",
            "400",
            "this is a proxy",
        ),
        (long.as_str(), "400", "its head is too large"),
        ("\x04\x01\0P\0\0\0\x01\0\r\n\r\n", "400", "not HTTP/1.1"),
        (
            "CONNECT 169.254.169.254:80 HTTP/1.1\r\n\r\n",
            "403",
            "169.254.169.254:80 is refused: an IP address is not accepted: use a host name. This job may reach any public host",
        ),
    ] {
        let answer = ask_bytes(&way, request).await;
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status} ")),
            "{answer}"
        );
        assert!(answer.contains(text), "{answer}");
    }
    assert_eq!(way.egress.refused(), ["169.254.169.254:80"]);
    assert!(way.lookups().is_empty());
}

/// Like `ask`, but the proxy may answer before the client has sent everything.
async fn ask_bytes(way: &RunningEgress, request: &str) -> String {
    let mut client = way.proxy().await;
    let _ = client.write_all(request.as_bytes()).await;
    String::from_utf8_lossy(&read_all(&mut client).await).into_owned()
}
