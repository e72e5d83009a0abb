//! An S3 server for tests.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::{Arc, Mutex};

use reqwest::{Client, Method};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::sync::{OnceCell, watch};
use tokio::task::JoinSet;

use super::python::python_with;

/// The server, which speaks S3 as `https://github.com/getmoto/moto` understands it.
const PACKAGES: [&str; 1] = ["moto[server]==5.2.5"];
/// Prints its port and serves until standard input ends: with the test, however that ends.
const SERVE: &str = "import sys
from moto.server import ThreadedMotoServer
server = ThreadedMotoServer(ip_address='127.0.0.1', port=0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()";

static PYTHON: OnceCell<Option<PathBuf>> = OnceCell::const_new();

/// An S3 service with the bucket `bucket`, behind a gate that a test can close.
pub(crate) struct S3 {
    /// Where the service is without the gate.
    direct: String,
    /// Where it is behind the gate.
    url: String,
    gate: watch::Sender<Gate>,
    /// The heads of requests that came through the gate.
    heads: Arc<Mutex<Vec<String>>>,
    http: Client,
    _server: Child,
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
    /// Starts it; `None` where it cannot be installed and may be left out.
    pub(crate) async fn start() -> Option<Self> {
        Self::start_with(&[]).await
    }

    /// The same, and each request after the first needs the credentials of a user whom nobody made.
    pub(crate) async fn start_locked() -> Option<Self> {
        Self::start_with(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]).await
    }

    async fn start_with(environment: &[(&str, &str)]) -> Option<Self> {
        // Another test may have been first.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let python = PYTHON.get_or_init(|| python_with("moto", &PACKAGES)).await;
        let mut server = Command::new(python.as_ref()?)
            .args(["-c", SERVE])
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut port = String::new();
        let stdout = server.stdout.take().unwrap();
        BufReader::new(stdout).read_line(&mut port).await.unwrap();
        let server_at: SocketAddr = format!("127.0.0.1:{}", port.trim()).parse().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
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
            _server: server,
            _connections: connections,
        };
        s3.request(Method::PUT, "/bucket").await;
        Some(s3)
    }

    /// What a service needs to keep its assets in that bucket.
    pub(crate) fn environment(&self, bucket: &str) -> Vec<(&'static str, String)> {
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
    pub(crate) async fn request(&self, method: Method, path: &str) -> String {
        let request = self.http.request(method, format!("{}{path}", self.direct));
        let response = request.send().await.unwrap();
        let status = response.status();
        let text = response.text().await.unwrap();
        assert!(status.is_success(), "{path}: {status} {text}");
        text
    }

    /// The names of the bucket's objects.
    pub(crate) async fn objects(&self) -> Vec<String> {
        let list = self.request(Method::GET, "/bucket?list-type=2").await;
        let keys = list.split("<Key>").skip(1);
        let keys = keys.filter_map(|rest| rest.split_once("</Key>"));
        keys.map(|(key, _)| key.to_owned()).collect()
    }

    /// How many uploads to the bucket have begun and not ended.
    pub(crate) async fn unfinished(&self) -> usize {
        let list = self.request(Method::GET, "/bucket?uploads").await;
        list.matches("<UploadId>").count()
    }

    /// The heads of the requests for an object that came through the gate, in lower case.
    pub(crate) fn heads_for(&self, object: &str) -> Vec<String> {
        let heads = self.heads.lock().unwrap();
        let found = heads.iter().filter(|head| head.contains(object));
        found.cloned().collect()
    }

    /// Ends all connections, and each new one, when it is called.
    pub(crate) fn closer(&self) -> impl Fn() + Send + Sync + 'static {
        let gate = self.gate.clone();
        move || {
            gate.send_replace(Gate::Closed);
        }
    }

    /// Holds everything back until it is opened.
    pub(crate) fn pause(&self) {
        self.gate.send_replace(Gate::Paused);
    }

    /// Lets everything through.
    pub(crate) fn open(&self) {
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
        heads.lock().unwrap().push(head.to_ascii_lowercase());
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
        let opened = gate.wait_for(|gate| *gate != Gate::Paused).await.is_ok();
        if !opened || to.write_all(&buffer[..count]).await.is_err() {
            return;
        }
    }
}
