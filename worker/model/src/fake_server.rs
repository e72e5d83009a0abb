//! A server for tests, on a real socket. It sends prepared answers and records its requests.

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

/// A prepared answer.
pub(super) struct FakeAnswer {
    head: String,
    body: String,
    cut: bool,
}

impl FakeAnswer {
    /// Creates an answer with a status, further headers (each ended by a line break) and a body.
    pub(super) fn status(status: u16, headers: &str, body: &str) -> Self {
        let head = format!("HTTP/1.1 {status} X\r\n{headers}");
        Self {
            head,
            body: body.to_owned(),
            cut: false,
        }
    }

    /// Creates a stream of these `data` lines.
    pub(super) fn stream(lines: &[&str]) -> Self {
        let body = lines
            .iter()
            .map(|line| format!("data: {line}\n\n"))
            .collect::<String>();
        Self::status(200, "content-type: text/event-stream\r\n", &body)
    }

    /// Makes the connection break in the middle of the body.
    pub(super) fn cut(self) -> Self {
        Self { cut: true, ..self }
    }
}

/// A server that accepts as many calls as it has answers. Dropping it ends the server.
pub(super) struct FakeServer {
    /// The base URL of the server.
    pub(super) url: String,
    calls: JoinSet<Vec<(String, Value)>>,
}

impl FakeServer {
    /// Starts a server with these answers.
    pub(super) async fn start(answers: Vec<FakeAnswer>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let mut calls = JoinSet::new();
        calls.spawn(async move {
            let mut seen = Vec::new();
            for answer in answers {
                let (mut connection, _) = listener.accept().await.unwrap();
                seen.push(read(&mut connection).await);
                write(&mut connection, &answer).await;
            }
            seen
        });
        Self { url, calls }
    }

    /// Returns the heads (in lower case) and bodies of all calls, after there were as many calls as answers.
    pub(super) async fn calls(mut self) -> Vec<(String, Value)> {
        self.calls.join_next().await.unwrap().unwrap()
    }
}

async fn read(connection: &mut TcpStream) -> (String, Value) {
    let mut seen = Vec::new();
    loop {
        assert_ne!(
            connection.read_buf(&mut seen).await.unwrap(),
            0,
            "the call was cut"
        );
        let text = String::from_utf8_lossy(&seen);
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        if let Ok(body) = serde_json::from_str(body) {
            return (head.to_ascii_lowercase(), body);
        }
    }
}

/// Writes the answer in chunks of an odd size.
async fn write(connection: &mut TcpStream, answer: &FakeAnswer) {
    let head = format!(
        "{}transfer-encoding: chunked\r\nconnection: close\r\n\r\n",
        answer.head
    );
    connection.write_all(head.as_bytes()).await.unwrap();
    for chunk in answer.body.as_bytes().chunks(37) {
        let size = format!("{:x}\r\n", chunk.len());
        connection
            .write_all(&[size.as_bytes(), chunk, b"\r\n"].concat())
            .await
            .unwrap();
    }
    if !answer.cut {
        connection.write_all(b"0\r\n\r\n").await.unwrap();
    }
    connection.shutdown().await.unwrap();
}
