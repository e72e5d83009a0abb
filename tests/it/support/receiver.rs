//! A receiver of webhooks that behaves as a test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use shared::webhook::WebhookSecret;
use skillet_client::{WebhookError, verify_webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::until;

/// What the receiver does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Behavior {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, &'static str),
    /// Never answers.
    Hang,
    /// Closes the connection before the answer, or in the middle of its body.
    CloseEarly,
    CloseInBody,
    /// Answers with that status and a gigabyte.
    Endless(u16),
}

/// A request that came.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: Vec<u8>,
}

impl Received {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(crate) fn id(&self) -> &str {
        &self.headers["webhook-id"]
    }

    pub(crate) fn kind(&self) -> String {
        self.json()["type"].as_str().unwrap().to_owned()
    }

    pub(crate) fn signatures(&self) -> usize {
        self.headers["webhook-signature"].split(' ').count()
    }

    /// The content, if the secret signed it.
    pub(crate) fn verify(&self, secret: &str) -> Result<Value, WebhookError> {
        let header = |name: &str| self.headers.get(name).map(String::as_str);
        verify_webhook(&self.body, header, &[secret])
    }
}

/// A receiver on a port of its own.
pub(crate) struct Receiver {
    pub(crate) url: String,
    state: Arc<Mutex<ReceiverState>>,
    _server: JoinSet<()>,
}

struct ReceiverState {
    behavior: Behavior,
    received: Vec<Received>,
    /// Requests that are being answered, and the most there were at once.
    open: usize,
    most_open: usize,
    /// Bytes of endless answers that were taken.
    sent: usize,
}

impl Receiver {
    pub(crate) async fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(ReceiverState {
            behavior,
            received: Vec::new(),
            open: 0,
            most_open: 0,
            sent: 0,
        }));
        let mut server = JoinSet::new();
        server.spawn(accept(listener, state.clone()));
        Self {
            url,
            state,
            _server: server,
        }
    }

    /// One that accepts all.
    pub(crate) async fn accepting() -> Self {
        Self::start(Behavior::Answer(204, "", "")).await
    }

    pub(crate) fn set(&self, behavior: Behavior) {
        self.state.lock().unwrap().behavior = behavior;
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    pub(crate) fn most_open(&self) -> usize {
        self.state.lock().unwrap().most_open
    }

    pub(crate) fn sent(&self) -> usize {
        self.state.lock().unwrap().sent
    }

    /// What came, when there are so many requests.
    pub(crate) async fn until(&self, count: usize) -> Vec<Received> {
        until(async || self.received().len() >= count).await;
        self.received()
    }
}

async fn accept(listener: TcpListener, state: Arc<Mutex<ReceiverState>>) {
    let mut connections = JoinSet::new();
    loop {
        let (connection, _) = listener.accept().await.unwrap();
        let state = state.clone();
        connections.spawn(async move {
            // The sender may close the connection at any time.
            let _ = serve(connection, state).await;
        });
    }
}

async fn serve(mut connection: TcpStream, state: Arc<Mutex<ReceiverState>>) -> std::io::Result<()> {
    let Some(received) = read(&mut connection).await? else {
        return Ok(());
    };
    let behavior = {
        let mut state = state.lock().unwrap();
        state.received.push(received);
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        state.behavior.clone()
    };
    let answered = answer(&mut connection, behavior, &state).await;
    state.lock().unwrap().open -= 1;
    answered
}

async fn read(connection: &mut TcpStream) -> std::io::Result<Option<Received>> {
    let (mut bytes, mut chunk) = (Vec::new(), [0; 4096]);
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        match connection.read(&mut chunk).await? {
            0 => return Ok(None),
            count => bytes.extend_from_slice(&chunk[..count]),
        }
    };
    let head = String::from_utf8(bytes[..end].to_vec()).unwrap();
    let pairs = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "));
    let headers: HashMap<_, _> = pairs
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers["content-length"].parse().unwrap();
    let mut body = bytes[end + 4..].to_vec();
    while body.len() < length {
        let count = connection.read(&mut chunk).await?;
        body.extend_from_slice(&chunk[..count]);
    }
    Ok(Some(Received { headers, body }))
}

async fn answer(
    connection: &mut TcpStream,
    behavior: Behavior,
    state: &Mutex<ReceiverState>,
) -> std::io::Result<()> {
    match behavior {
        Behavior::Answer(status, headers, body) => {
            let length = body.len();
            let text = format!(
                "HTTP/1.1 {status} X\r\nconnection: close\r\n{headers}content-length: {length}\r\n\r\n{body}"
            );
            connection.write_all(text.as_bytes()).await
        }
        Behavior::Hang => {
            // Until the sender has had enough.
            let mut rest = [0; 1];
            connection.read(&mut rest).await.map(drop)
        }
        Behavior::CloseEarly => Ok(()),
        Behavior::CloseInBody => {
            let head = "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf";
            connection.write_all(head.as_bytes()).await?;
            connection.flush().await
        }
        Behavior::Endless(status) => {
            let head = format!("HTTP/1.1 {status} X\r\ncontent-length: 1073741824\r\n\r\n");
            connection.write_all(head.as_bytes()).await?;
            let block = [b'x'; 65_536];
            for _ in 0..16_384 {
                connection.write_all(&block).await?;
                state.lock().unwrap().sent += block.len();
            }
            Ok(())
        }
    }
}

/// Posts a signed body to a receiver, as the service does, and returns the status of the answer.
pub(crate) async fn post_signed(
    url: &str,
    secret: &str,
    age: Duration,
    body: &str,
    sent: &str,
) -> u16 {
    let secret = WebhookSecret::parse(secret).unwrap();
    let timestamp = chrono::Utc::now().timestamp() - age.as_secs().cast_signed();
    let request = reqwest::Client::new()
        .post(url)
        .header("content-type", "application/json")
        .header("webhook-id", "evt_1_2")
        .header("webhook-timestamp", timestamp)
        .header(
            "webhook-signature",
            secret.sign("evt_1_2", timestamp, body.as_bytes()),
        )
        .body(sent.to_owned());
    request.send().await.unwrap().status().as_u16()
}
