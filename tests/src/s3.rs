//! An S3 server with a gate in front of it that can be paused and closed.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, ensure};
use reqwest::{Client, Method};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

/// The Python package of the server, <https://github.com/getmoto/moto>, which keeps its objects in memory.
pub const PACKAGE: &str = "moto[server]==5.2.5";
/// The pause between two looks at connections that end.
const PAUSE: Duration = Duration::from_millis(5);
/// Prints its port and serves until standard input ends: with the test, however that ends.
const SERVE: &str = "import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()";

/// An S3 service with the bucket `bucket`, behind a gate that a test can close.
pub struct S3 {
    /// Where the service is without the gate.
    direct: String,
    /// Where it is behind the gate.
    url: String,
    gate: watch::Sender<Gate>,
    /// The heads of requests that came through the gate.
    heads: Arc<Mutex<Vec<String>>>,
    http: Client,
    server: Child,
    _connections: JoinSet<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Nothing passes, and connections stay.
    Paused,
    /// Connections end at once.
    Closed,
}

impl S3 {
    /// Starts it with a Python that has [`PACKAGE`], and with more variables.
    pub async fn start(python: &Path, environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut server = Command::new(python)
            .args(["-c", SERVE])
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        let mut port = String::new();
        let stdout = server.stdout.take().context("its output is piped")?;
        BufReader::new(stdout).read_line(&mut port).await?;
        let port = port.trim().parse().context("the S3 server did not start")?;
        let server_at = SocketAddr::from(([127, 0, 0, 1], port));
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let url = format!("http://{}", listener.local_addr()?);
        let (gate, state) = watch::channel(Gate::Open);
        let mut connections = JoinSet::new();
        let heads = Arc::default();
        connections.spawn(accept(listener, server_at, state, Arc::clone(&heads)));
        let s3 = Self {
            direct: format!("http://{server_at}"),
            url,
            gate,
            heads,
            http: Client::new(),
            server,
            _connections: connections,
        };
        s3.request(Method::PUT, "/bucket").await?;
        Ok(s3)
    }

    /// What a service needs to keep its assets in that bucket.
    pub fn environment(&self, bucket: &str) -> Vec<(&'static str, String)> {
        vec![
            ("SKILLET_ASSETS", format!("s3://{bucket}/some/prefix")),
            ("AWS_ENDPOINT", self.url.clone()),
            ("AWS_ALLOW_HTTP", "true".to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ACCESS_KEY_ID", "test".to_owned()),
            ("AWS_SECRET_ACCESS_KEY", "test".to_owned()),
        ]
    }

    /// Sends a request past the gate; the answer's text.
    pub async fn request(&self, method: Method, path: &str) -> anyhow::Result<String> {
        let request = self.http.request(method, format!("{}{path}", self.direct));
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "{path}: {status} {text}");
        Ok(text)
    }

    /// The names of the bucket's objects.
    pub async fn objects(&self) -> anyhow::Result<Vec<String>> {
        let list = self.request(Method::GET, "/bucket?list-type=2").await?;
        let keys = list.split("<Key>").skip(1);
        let keys = keys.filter_map(|rest| rest.split_once("</Key>"));
        Ok(keys.map(|(key, _)| key.to_owned()).collect())
    }

    /// How many uploads to the bucket have begun and not ended.
    pub async fn unfinished(&self) -> anyhow::Result<usize> {
        let list = self.request(Method::GET, "/bucket?uploads").await?;
        Ok(list.matches("<UploadId>").count())
    }

    /// The heads of the requests for an object that came through the gate, in lower case.
    pub fn heads_for(&self, object: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let found = heads.iter().filter(|head| head.contains(object));
        found.cloned().collect()
    }

    /// Ends all connections, and each new one, when it is called.
    pub fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let gate = self.gate.clone();
        move || {
            gate.send_replace(Gate::Closed);
        }
    }

    /// Ends all connections and each new one, and returns when those that there were have ended.
    pub async fn close(&self) {
        self.gate.send_replace(Gate::Closed);
        // The one that is left waits for new connections.
        while self.gate.receiver_count() > 1 {
            sleep(PAUSE).await;
        }
    }

    /// Stops the process of the server.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Lets the process of the server go on.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let process = self
            .server
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(process) = process {
            // It is ours until it is waited for.
            let _ = kill_process(process, signal);
        }
    }

    /// Holds everything back until it is opened.
    pub fn pause(&self) {
        self.gate.send_replace(Gate::Paused);
    }

    /// Lets everything through.
    pub fn open(&self) {
        self.gate.send_replace(Gate::Open);
    }
}

async fn accept(
    listener: TcpListener,
    server: SocketAddr,
    gate: watch::Receiver<Gate>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        if *gate.borrow() != Gate::Closed {
            connections.spawn(connect(client, server, gate.clone(), heads.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn connect(
    client: TcpStream,
    server: SocketAddr,
    mut gate: watch::Receiver<Gate>,
    heads: Arc<Mutex<Vec<String>>>,
) {
    let Ok(server) = TcpStream::connect(server).await else {
        return;
    };
    let (client, server) = (client.into_split(), server.into_split());
    tokio::select! {
        () = pass(client.0, server.1, gate.clone(), |bytes| keep_head(&heads, bytes)) => {}
        () = pass(server.0, client.1, gate.clone(), |_| ()) => {}
        _ = gate.wait_for(|gate| *gate == Gate::Closed) => {}
    }
}

/// Keeps what begins as a request does.
fn keep_head(heads: &Mutex<Vec<String>>, bytes: &[u8]) {
    let is_request = ["GET /", "PUT /", "POST /", "HEAD /", "DELETE /"]
        .iter()
        .any(|start| bytes.starts_with(start.as_bytes()));
    if is_request {
        let head = String::from_utf8_lossy(bytes);
        let head = head.split("\r\n\r\n").next().unwrap_or_default();
        let mut heads = heads.lock().unwrap_or_else(PoisonError::into_inner);
        heads.push(head.to_ascii_lowercase());
    }
}

async fn pass(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    mut gate: watch::Receiver<Gate>,
    look: impl Fn(&[u8]),
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(count @ 1..) = from.read(&mut buffer).await {
        look(&buffer[..count]);
        let gate = gate.wait_for(|gate| *gate != Gate::Paused).await;
        let is_open = gate.is_ok_and(|gate| *gate == Gate::Open);
        if !is_open || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
