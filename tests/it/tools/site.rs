//! A test web server on 127.0.0.1, with a well-behaved or hostile response for each path.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

pub(super) struct Site {
    address: SocketAddr,
}

impl Site {
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                std::thread::spawn(move || serve(stream));
            }
        });
        Self {
            address: ([127, 0, 0, 1], port).into(),
        }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn port(&self) -> u16 {
        self.address.port()
    }
}

/// Serves one connection. In many tests, the client disconnects early.
fn serve(mut stream: TcpStream) {
    let Some(request) = read(&mut stream) else {
        return;
    };
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let _ = answer(&mut stream, &path, &request);
}

/// Reads the head of a request, and the body if the head contains its length.
fn read(stream: &mut TcpStream) -> Option<String> {
    let (mut request, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let count = stream.read(&mut buffer).ok().filter(|count| *count > 0)?;
        request.extend_from_slice(&buffer[..count]);
        let text = String::from_utf8_lossy(&request).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let head = head.to_ascii_lowercase();
        let length = head
            .lines()
            .find_map(|line| line.strip_prefix("content-length: "));
        if length.is_none_or(|length| body.len() >= length.trim().parse::<usize>().unwrap()) {
            return Some(text);
        }
    }
}

fn answer(stream: &mut TcpStream, path: &str, request: &str) -> std::io::Result<()> {
    let (first, rest) = path[1..].split_once('/').unwrap_or((&path[1..], ""));
    let first = first.split('?').next().unwrap();
    if let Some(to) = target(first, stream) {
        return send(stream, "302 Found", &format!("Location: {to}"), b"moved");
    }
    if let Some((headers, body)) = plain(first) {
        return send(stream, "200 OK", headers, body);
    }
    match first {
        "after-1-s" => {
            std::thread::sleep(Duration::from_secs(1));
            let page = format!("page {rest}");
            send(stream, "200 OK", TEXT, page.as_bytes())
        }
        "silent" => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        "slow" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}\r\n\r\n")?;
            loop {
                stream.write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        "endless" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{TEXT}\r\n\r\n")?;
            forever(stream, &[b'x'; 65536])
        }
        "bomb" => {
            write!(stream, "HTTP/1.1 200 OK\r\n{PACKED}\r\n\r\n")?;
            forever(stream, bomb())
        }
        "gzip" => send(stream, "200 OK", PACKED, &gzip(b"packed")),
        "cut" => write!(
            stream,
            "HTTP/1.1 200 OK\r\n{TEXT}\r\nContent-Length: 100\r\n\r\nten bytes."
        ),
        "headers-300" => send(stream, "200 OK", &fields(300, 0), b"many"),
        "headers-70" => send(stream, "200 OK", &fields(70, 30), b"some"),
        "huge-header" => {
            let huge = format!("X-Huge: {}", "x".repeat(2_000_000));
            send(stream, "200 OK", &huge, b"huge")
        }
        "no-http" => stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n"),
        "long" => {
            let long = format!("\"{}\"", "y".repeat(5000));
            send(stream, "200 OK", JSON, long.as_bytes())
        }
        "missing" => send(stream, "404 Not Found", TEXT, b"nothing here"),
        "echo" => send(stream, "201 Created", TEXT, request.as_bytes()),
        other => panic!("there is no /{other}"),
    }
}

const TEXT: &str = "Content-Type: text/plain";
const JSON: &str = "Content-Type: application/json";
const PACKED: &str = "Content-Type: text/plain\r\nContent-Encoding: gzip";
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
const PAGE: &[u8] = b"<!doctype html><title>A page</title><h1>Big</h1>\
                      <p>It has a <a href='/json?a=1'>link</a>.<script>x()</script>";

/// Returns the headers and the body of a static page.
fn plain(path: &str) -> Option<(&'static str, &'static [u8])> {
    Some(match path {
        "page" => (
            "Content-Type: text/html; charset=utf-8\r\nX-Other: no",
            PAGE,
        ),
        "json" => (JSON, b"{\"a\": [1, 2]}"),
        "latin" => ("Content-Type: text/plain; charset=iso-8859-1", b"caf\xe9"),
        "invalid" => (TEXT, b"a\xff\xfe\xfdb"),
        "png" => ("Content-Type: image/png", PNG),
        "liar" => ("Content-Type: text/html", PNG),
        "untyped" => ("X-A: b", b"just words"),
        "damaged" => (PACKED, b"no gzip at all"),
        "brotli" => ("Content-Type: text/plain\r\nContent-Encoding: br", b"x"),
        "" => (TEXT, b"hello"),
        _ => return None,
    })
}

/// Returns the target of a redirect.
fn target(path: &str, stream: &TcpStream) -> Option<String> {
    Some(match path {
        "moved" => "/page".to_owned(),
        "moved-here" => format!("//localhost:{}/json", stream.local_addr().unwrap().port()),
        "round" => "/round".to_owned(),
        "to-private" => "http://10.0.0.1/".to_owned(),
        "to-metadata" => "http://169.254.169.254/latest/meta-data/".to_owned(),
        "to-file" => "file:///etc/passwd".to_owned(),
        "to-user" => "http://user:word@127.0.0.1/".to_owned(),
        _ => return None,
    })
}

/// Returns this number of header fields, each longer than the one before by `step`.
fn fields(count: usize, step: usize) -> String {
    let fields = (0..count).map(|n| format!("X-Field-{n:02}: {}", "v".repeat(n * step)));
    fields.collect::<Vec<_>>().join("\r\n")
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

fn forever(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(piece)?;
    }
}

/// Returns 100 MB of one letter, compressed. Members of gzip can be concatenated endlessly.
fn bomb() -> &'static [u8] {
    static BOMB: OnceLock<Vec<u8>> = OnceLock::new();
    BOMB.get_or_init(|| gzip(&vec![b'z'; 100_000_000]))
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut gzip = Command::new("gzip")
        .arg("-1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = gzip.stdin.take().unwrap();
    let content = content.to_vec();
    let writing = std::thread::spawn(move || input.write_all(&content));
    let packed = gzip.wait_with_output().unwrap().stdout;
    writing.join().unwrap().unwrap();
    packed
}
