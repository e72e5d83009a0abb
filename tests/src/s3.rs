//! An S3 server behind a proxy (the gate) that can be paused and closed.

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

/// The Python package of the server, <https://github.com/getmoto/moto>. It keeps its objects in memory.
pub const PACKAGE: &str = "moto[server]==5.2.5";
/// The interval of the check for closed connections.
const PAUSE: Duration = Duration::from_millis(5);
/// Prints the port and serves until standard input is closed, that is, until the test exits for any reason.
const SERVE: &str = "import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()";

/// An S3 service with the bucket `bucket`, behind a gate that a test can close.
pub struct S3 {
    /// The address of the service without the gate.
    direct: String,
    /// The address of the gate.
    url: String,
    gate: watch::Sender<Gate>,
    /// The heads of the requests that passed the gate.
    heads: Arc<Mutex<Vec<String>>>,
    http: Client,
    server: Child,
    _connections: JoinSet<()>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// No bytes pass, but connections stay open.
    Paused,
    /// Existing and new connections are closed at once.
    Closed,
}

impl S3 {
    /// Starts the service with a Python that has [`PACKAGE`] installed, and with additional environment variables.
    pub async fn start(python: &Path, environment: &[(&str, &str)]) -> anyhow::Result<Self> {
        // Another test of this process may have installed the provider first.
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

    /// The environment variables of an API or worker that keeps its assets in the bucket.
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

    /// Sends a request that bypasses the gate, and returns the text of the response.
    pub async fn request(&self, method: Method, path: &str) -> anyhow::Result<String> {
        let request = self.http.request(method, format!("{}{path}", self.direct));
        let response = request.send().await?;
        let status = response.status();
        let text = response.text().await?;
        ensure!(status.is_success(), "{path}: {status} {text}");
        Ok(text)
    }

    /// The keys of the objects in the bucket.
    pub async fn objects(&self) -> anyhow::Result<Vec<String>> {
        let list = self.request(Method::GET, "/bucket?list-type=2").await?;
        let keys = list.split("<Key>").skip(1);
        let keys = keys.filter_map(|rest| rest.split_once("</Key>"));
        Ok(keys.map(|(key, _)| key.to_owned()).collect())
    }

    /// The number of multipart uploads that have begun and not ended.
    pub async fn unfinished(&self) -> anyhow::Result<usize> {
        let list = self.request(Method::GET, "/bucket?uploads").await?;
        Ok(list.matches("<UploadId>").count())
    }

    /// The heads, in lower case, of the requests for an object that passed the gate.
    pub fn heads_for(&self, object: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
        let found = heads.iter().filter(|head| head.contains(object));
        found.cloned().collect()
    }

    /// Returns a function that closes all connections and refuses new ones.
    pub fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let gate = self.gate.clone();
        move || {
            gate.send_replace(Gate::Closed);
        }
    }

    /// Closes all connections and refuses new ones. Returns when the existing connections have ended.
    pub async fn close(&self) {
        self.gate.send_replace(Gate::Closed);
        // The last receiver belongs to the task that accepts connections.
        while self.gate.receiver_count() > 1 {
            sleep(PAUSE).await;
        }
    }

    /// Suspends the server process with SIGSTOP.
    pub fn stop(&self) {
        self.signal(Signal::STOP);
    }

    /// Resumes the server process with SIGCONT.
    pub fn go_on(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        let process = self
            .server
            .id()
            .and_then(|id| Pid::from_raw(id.try_into().ok()?));
        if let Some(process) = process {
            // The process id stays valid until the process is waited for.
            let _ = kill_process(process, signal);
        }
    }

    /// Holds all traffic until the gate is opened.
    pub fn pause(&self) {
        self.gate.send_replace(Gate::Paused);
    }

    /// Lets all traffic pass.
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

/// Records the bytes if they begin with a request line.
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
