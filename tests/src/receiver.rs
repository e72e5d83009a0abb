//! A receiver of webhooks that behaves as a test says.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use skillet_client::{WebhookError, verify_webhook};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

/// How long requests may take to come: busy machines are slow.
const PATIENCE: Duration = Duration::from_secs(180);
const PAUSE: Duration = Duration::from_millis(20);

/// What the receiver does with a request.
#[derive(Clone, Debug)]
pub enum Behavior {
    /// Answers with a status, headers and a body.
    Answer(u16, &'static str, &'static str),
    /// Never answers.
    Hang,
    /// Closes the connection before the answer.
    CloseEarly,
    /// Closes the connection in the middle of the answer's body.
    CloseInBody,
    /// Answers with that status and a gigabyte.
    Endless(u16),
}

impl Behavior {
    /// Accepts a request.
    pub const ACCEPT: Self = Self::Answer(204, "", "");

    fn accepts(&self) -> bool {
        matches!(self, Self::Answer(200..=299, _, _))
    }
}

/// A request that came.
#[derive(Clone, Debug)]
pub struct Received {
    /// Its headers, by their names in lower case.
    pub headers: HashMap<String, String>,
    /// Its body.
    pub body: Vec<u8>,
    /// Whether the answer accepts it.
    pub is_accepted: bool,
}

impl Received {
    /// The body, unverified.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// The id of the event.
    pub fn id(&self) -> &str {
        self.header("webhook-id").unwrap_or_default()
    }

    /// The type of the event.
    pub fn kind(&self) -> String {
        let kind = &self.json()["type"];
        kind.as_str().unwrap_or_default().to_owned()
    }

    /// The number of signatures.
    pub fn signatures(&self) -> usize {
        let signatures = self.header("webhook-signature").unwrap_or_default();
        signatures.split_whitespace().count()
    }

    /// The content, if the secret signed it.
    pub fn verify(&self, secret: &str) -> Result<Value, WebhookError> {
        verify_webhook(&self.body, |name| self.header(name), &[secret])
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(String::as_str)
    }
}

/// A receiver on a port of its own.
pub struct Receiver {
    /// Its address.
    pub url: String,
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
    /// Starts one.
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

    /// One that accepts all.
    pub async fn accepting() -> Self {
        Self::start(Behavior::ACCEPT).await
    }

    /// Changes what it does with the requests that come from now on.
    pub fn set(&self, behavior: Behavior) {
        lock(&self.state).behavior = behavior;
    }

    /// What came.
    pub fn received(&self) -> Vec<Received> {
        lock(&self.state).received.clone()
    }

    /// What came since the last call.
    pub fn take_received(&self) -> Vec<Received> {
        std::mem::take(&mut lock(&self.state).received)
    }

    /// The most requests that were being answered at once.
    pub fn most_open(&self) -> usize {
        lock(&self.state).most_open
    }

    /// Bytes of endless answers that were taken.
    pub fn sent(&self) -> usize {
        lock(&self.state).sent
    }

    /// What came, when there are so many requests.
    ///
    /// # Panics
    ///
    /// If they do not come.
    pub async fn until(&self, count: usize) -> Vec<Received> {
        let begun_at = Instant::now();
        loop {
            let received = self.received();
            if received.len() >= count {
                return received;
            }
            assert!(
                begun_at.elapsed() < PATIENCE,
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

/// The headers and the body of a request; `None` if the sender has gone before its end.
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
                lock(state).sent += block.len();
            }
            Ok(())
        }
    }
}
