//! A webhook receiver with scripted behavior.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use skillet_client::{WebhookError, verify_webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// The longest wait for requests. Busy machines are slow.
const TIMEOUT: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(20);

/// The behavior of the receiver for each request.
#[derive(Clone, Debug)]
pub enum Behavior {
    /// Responds with a status, headers and a body.
    Answer(u16, &'static str, &'static str),
    /// Never responds.
    Hang,
    /// Closes the connection before the response.
    CloseEarly,
    /// Closes the connection in the middle of the response body.
    CloseInBody,
    /// Responds with the given status and a body of a gigabyte.
    Endless(u16),
}

impl Behavior {
    /// Accepts each request.
    pub const ACCEPT: Self = Self::Answer(204, "", "");

    fn accepts(&self) -> bool {
        matches!(self, Self::Answer(200..=299, _, _))
    }
}

/// A received request.
#[derive(Clone, Debug)]
pub struct Received {
    /// The headers, by their names in lower case.
    pub headers: HashMap<String, String>,
    /// The body.
    pub body: Vec<u8>,
    /// Whether the response accepts the request.
    pub is_accepted: bool,
}

impl Received {
    /// The body as JSON, without verification of the signature.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The id of the webhook event.
    pub fn id(&self) -> &str {
        self.header("webhook-id").unwrap_or_default()
    }

    /// The type of the webhook event.
    pub fn kind(&self) -> String {
        let kind = &self.json()["type"];
        kind.as_str().unwrap_or_default().to_owned()
    }

    /// The number of signatures.
    pub fn signatures(&self) -> usize {
        let signatures = self.header("webhook-signature").unwrap_or_default();
        signatures.split_whitespace().count()
    }

    /// Verifies the signature with the secret and returns the content.
    pub fn verify(&self, secret: &str) -> Result<Value, WebhookError> {
        verify_webhook(&self.body, |name| self.header(name), &[secret])
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A webhook receiver on its own port.
pub struct Receiver {
    /// The URL of the receiver.
    pub url: String,
    state: Arc<Mutex<ReceiverState>>,
    _server: JoinSet<()>,
}

struct ReceiverState {
    behavior: Behavior,
    received: Vec<Received>,
    /// The number of requests in progress, and its maximum so far.
    open: usize,
    most_open: usize,
    /// The number of bytes of endless responses that the sender has read.
    sent: usize,
}

impl Receiver {
    /// Starts a receiver.
    ///
    /// # Panics
    ///
    /// If there is no free port.
    pub async fn start(behavior: Behavior) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound port");
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
            url: format!("http://{address}/hook"),
            state,
            _server: server,
        }
    }

    /// Starts a receiver that accepts all requests.
    pub async fn accepting() -> Self {
        Self::start(Behavior::ACCEPT).await
    }

    /// Changes the behavior for future requests.
    pub fn set(&self, behavior: Behavior) {
        lock(&self.state).behavior = behavior;
    }

    /// All received requests.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state).received.clone()
    }

    /// The requests received since the last call.
    pub fn take_received(&self) -> Vec<Received> {
        std::mem::take(&mut lock(&self.state).received)
    }

    /// The highest number of requests that were in progress at the same time.
    pub fn most_open(&self) -> usize {
        lock(&self.state).most_open
    }

    /// The number of bytes of endless responses that the sender has read.
    pub fn sent(&self) -> usize {
        lock(&self.state).sent
    }

    /// Waits for at least `count` requests and returns all received requests.
    ///
    /// # Panics
    ///
    /// If they do not arrive in time.
    pub async fn until(&self, count: usize) -> Vec<Received> {
        let begun_at = Instant::now();
        loop {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            assert!(
                begun_at.elapsed() < TIMEOUT,
                "{count} requests did not come"
            );
            sleep(PAUSE).await;
        }
    }
}

fn lock(state: &Mutex<ReceiverState>) -> MutexGuard<'_, ReceiverState> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn accept(listener: TcpListener, state: Arc<Mutex<ReceiverState>>) {
    let mut connections = JoinSet::new();
    while let Ok((connection, _)) = listener.accept().await {
        let state = state.clone();
        connections.spawn(async move {
            // The sender may close the connection at any time.
            let _ = serve(connection, state).await;
        });
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut connection: TcpStream, state: Arc<Mutex<ReceiverState>>) -> std::io::Result<()> {
    let Some((headers, body)) = read(&mut connection).await? else {
        return Ok(());
    };
    let behavior = {
        let mut state = lock(&state);
        let behavior = state.behavior.clone();
        state.received.push(Received {
            headers,
            body,
            is_accepted: behavior.accepts(),
        });
        state.open += 1;
        state.most_open = state.most_open.max(state.open);
        behavior
    };
    let answered = answer(&mut connection, behavior, &state).await;
    lock(&state).open -= 1;
    answered
}

/// Reads the headers and the body of a request. Returns `None` if the sender closes the connection early.
async fn read(
    connection: &mut TcpStream,
) -> std::io::Result<Option<(HashMap<String, String>, Vec<u8>)>> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if connection.read_buf(&mut bytes).await? == 0 {
            return Ok(None);
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let pairs = head
        .lines()
        .skip(1)
        .filter_map(|line| line.split_once(": "));
    let headers: HashMap<_, _> = pairs
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length = headers.get("content-length");
    let length: usize = length.and_then(|it| it.parse().ok()).unwrap_or_default();
    let mut body = bytes.split_off(end + 4);
    while body.len() < length {
        if connection.read_buf(&mut body).await? == 0 {
            return Ok(None);
        }
    }
    Ok(Some((headers, body)))
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
            // Wait until the sender closes the connection.
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
                lock(state).sent += block.len();
            }
            Ok(())
        }
    }
}
