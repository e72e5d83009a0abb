//! A test MCP server with streamable HTTP, with a behaviour for each path.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

pub(super) struct Site {
    address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    sessions: AtomicUsize,
    seen: Mutex<Vec<Seen>>,
    /// The id of the call whose response is pending.
    owed: Mutex<Value>,
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// The HTTP method and the MCP method.
    pub(super) what: String,
    /// The head of the request, in lower case.
    pub(super) head: String,
}

struct Request {
    verb: String,
    path: String,
    head: String,
    message: Value,
}

impl Site {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared::default());
        let site = Self {
            address: ([127, 0, 0, 1], port).into(),
            shared: shared.clone(),
        };
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = shared.clone();
                // In some tests, the client disconnects early.
                std::thread::spawn(move || serve(stream, &shared));
            }
        });
        site
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}/{path}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }

    /// Returns the requests so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.shared.seen.lock().unwrap().clone()
    }
}

impl Seen {
    /// Returns the value of a header.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines();
    lines.find_map(|line| Some(line.strip_prefix(name)?.strip_prefix(": ")?.trim()))
}

fn serve(stream: TcpStream, shared: &Shared) -> Option<()> {
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut stream = stream;
    loop {
        let request = read(&mut reader)?;
        let what = request.message["method"].as_str().unwrap_or("-");
        shared.seen.lock().unwrap().push(Seen {
            what: format!("{} {what}", request.verb),
            head: request.head.clone(),
        });
        answer(&mut stream, &request, shared).ok()?;
    }
}

fn read(reader: &mut BufReader<TcpStream>) -> Option<Request> {
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let (verb, rest) = head.split_once(" /")?;
    let (path, _) = rest.split_once(' ')?;
    let (verb, path) = (verb.to_owned(), path.to_owned());
    let head = head.to_ascii_lowercase();
    let length = header(&head, "content-length").map_or(0, |length| length.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let message = serde_json::from_slice(&body).unwrap_or_default();
    Some(Request {
        verb,
        path,
        head,
        message,
    })
}

fn answer(stream: &mut TcpStream, request: &Request, shared: &Shared) -> std::io::Result<()> {
    let method = request.message["method"].as_str().unwrap_or_default();
    match (&*request.path, &*request.verb) {
        ("moved", _) => send(
            stream,
            "307 Temporary Redirect",
            "Location: http://10.0.0.1/",
            "",
        ),
        ("closed", _) => send(stream, "401 Unauthorized", "WWW-Authenticate: Bearer", ""),
        ("broken", _) => send(stream, "500 Oops", "Content-Type: text/plain", "sorry"),
        ("page", _) => send(stream, "200 OK", "Content-Type: text/html", "<html>"),
        ("resuming", "GET") if request.head.contains("last-event-id: 7") => {
            let content = json!({"content": [{"type": "text", "text": "the rest"}]});
            let id = shared.owed.lock().unwrap().clone();
            let result = json!({"jsonrpc": "2.0", "id": id, "result": content});
            send(stream, "200 OK", EVENTS, &event(&result))
        }
        ("words", "GET") => send(stream, "200 OK", "Content-Type: text/plain", "just words"),
        (_, "GET") => send(stream, "405 Method Not Allowed", "Allow: POST", ""),
        (_, "DELETE") => send(stream, "204 No Content", "X-A: b", ""),
        _ if request.message.get("id").is_none() => send(stream, "202 Accepted", "X-A: b", ""),
        (_, _) if method == "initialize" => {
            let session = shared.sessions.fetch_add(1, Ordering::Relaxed);
            let result = json!({
                "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
                "serverInfo": {"name": "site", "version": "1"},
            });
            let fields = format!("{JSON}\r\nMcp-Session-Id: session-{session}");
            send(
                stream,
                "200 OK",
                &fields,
                &reply(request, result).to_string(),
            )
        }
        ("expiring", _) if method == "tools/call" && request.head.contains("session-0") => {
            send(stream, "404 Not Found", "X-A: b", "")
        }
        _ if method == "tools/list" => {
            let tool = |name: &str| json!({"name": name, "inputSchema": {"type": "object"}});
            let result = json!({"tools": [tool("echo"), tool("other")]});
            send(stream, "200 OK", JSON, &reply(request, result).to_string())
        }
        (path, _) => {
            *shared.owed.lock().unwrap() = request.message["id"].clone();
            call(stream, path, request)
        }
    }
}

/// Responds to tool calls. The default result contains the credentials, the session and the protocol version of the
/// request.
fn call(stream: &mut TcpStream, path: &str, request: &Request) -> std::io::Result<()> {
    let told = |name| header(&request.head, name).unwrap_or("none");
    let text = format!(
        "{}; {}; {}",
        told("authorization"),
        told("mcp-session-id"),
        told("mcp-protocol-version")
    );
    let result = reply(
        request,
        json!({"content": [{"type": "text", "text": text}]}),
    );
    let noise = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": 1, "progress": 1}});
    match path {
        "events" => {
            let events = format!(": hello\n\n{}{}", event(&noise), event(&result));
            send(stream, "200 OK", EVENTS, &events)
        }
        "resuming" => send(stream, "200 OK", EVENTS, "id: 7\nretry: 10\ndata: \n\n"),
        "stuck" => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        "endless" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{JSON}\r\nConnection: close\r\n\r\n"
            )?;
            forever(stream, &"x".repeat(65536))
        }
        "heavy" => {
            let heavy = json!({"content": [], "structuredContent": vec![0; 300_000]});
            send(stream, "200 OK", JSON, &reply(request, heavy).to_string())
        }
        "flood" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{EVENTS}\r\nConnection: close\r\n\r\n"
            )?;
            forever(stream, &event(&noise).repeat(100))
        }
        "line" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\n{EVENTS}\r\nConnection: close\r\n\r\ndata: "
            )?;
            forever(stream, &"x".repeat(65536))
        }
        _ => send(stream, "200 OK", JSON, &result.to_string()),
    }
}

const JSON: &str = "Content-Type: application/json";
const EVENTS: &str = "Content-Type: text/event-stream";

fn reply(request: &Request, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.message["id"], "result": result})
}

fn event(message: &Value) -> String {
    format!("event: message\ndata: {message}\n\n")
}

fn send(stream: &mut TcpStream, status: &str, fields: &str, body: &str) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{fields}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
}

fn forever(stream: &mut TcpStream, piece: &str) -> std::io::Result<()> {
    loop {
        stream.write_all(piece.as_bytes())?;
    }
}
