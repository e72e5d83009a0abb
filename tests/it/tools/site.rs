//! A server on 127.0.0.1, which the operator of these tests allows. It is as hostile as a path asks it to be.

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

/// A client that goes away in the middle is what many of the tests are about.
fn serve(mut stream: TcpStream) {
    let Some(request) = read(&mut stream) else {
        return;
    };
    let path = request.split(' ').nth(1).unwrap_or("/").to_owned();
    let _ = answer(&mut stream, &path, &request);
}

/// The head of a request, and the body if its length is said.
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
    match first.split('?').next().unwrap() {
        "after-1-s" => {
            std::thread::sleep(Duration::from_secs(1));
            send(
                stream,
                "200 OK",
                "Content-Type: text/plain",
                format!("page {rest}").as_bytes(),
            )
        }
        "silent" => {
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        }
        "slow" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
            )?;
            loop {
                stream.write_all(b"x")?;
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        "endless" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n"
            )?;
            forever(stream, &[b'x'; 65536])
        }
        "bomb" => {
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\n\r\n"
            )?;
            forever(stream, bomb())
        }
        "gzip" => send(
            stream,
            "200 OK",
            "Content-Type: text/plain\r\nContent-Encoding: gzip",
            &gzip(b"packed"),
        ),
        "damaged" => send(
            stream,
            "200 OK",
            "Content-Type: text/plain\r\nContent-Encoding: gzip",
            b"no gzip at all",
        ),
        "brotli" => send(
            stream,
            "200 OK",
            "Content-Type: text/plain\r\nContent-Encoding: br",
            b"x",
        ),
        "cut" => write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 100\r\n\r\nten bytes."
        ),
        "headers-300" => {
            let headers: Vec<_> = (0..300).map(|n| format!("X-Field-{n}: {n}")).collect();
            send(stream, "200 OK", &headers.join("\r\n"), b"many")
        }
        "headers-70" => {
            let headers: Vec<_> = (0..70)
                .map(|n| format!("X-Field-{n:02}: {}", "v".repeat(n * 30)))
                .collect();
            send(stream, "200 OK", &headers.join("\r\n"), b"some")
        }
        "huge-header" => send(
            stream,
            "200 OK",
            &format!("X-Huge: {}", "x".repeat(2_000_000)),
            b"huge",
        ),
        "no-http" => stream.write_all(b"SSH-2.0-OpenSSH_9.9\r\n"),
        "page" => {
            let html = "<!doctype html><title>A page</title><h1>Big</h1><p>It has a <a href='/json?a=1'>link</a>.<script>x()</script>";
            send(
                stream,
                "200 OK",
                "Content-Type: text/html; charset=utf-8\r\nX-Other: no",
                html.as_bytes(),
            )
        }
        "json" => send(
            stream,
            "200 OK",
            "Content-Type: application/json",
            b"{\"a\": [1, 2]}",
        ),
        "latin" => send(
            stream,
            "200 OK",
            "Content-Type: text/plain; charset=iso-8859-1",
            b"caf\xe9",
        ),
        "invalid" => send(
            stream,
            "200 OK",
            "Content-Type: text/plain",
            b"a\xff\xfe\xfdb",
        ),
        "png" => send(
            stream,
            "200 OK",
            "Content-Type: image/png",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        ),
        "liar" => send(
            stream,
            "200 OK",
            "Content-Type: text/html",
            b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        ),
        "untyped" => send(stream, "200 OK", "X-A: b", b"just words"),
        "long" => send(
            stream,
            "200 OK",
            "Content-Type: application/json",
            format!("\"{}\"", "y".repeat(5000)).as_bytes(),
        ),
        "missing" => send(
            stream,
            "404 Not Found",
            "Content-Type: text/plain",
            b"nothing here",
        ),
        "echo" => send(
            stream,
            "201 Created",
            "Content-Type: text/plain",
            request.as_bytes(),
        ),
        "moved" => redirect(stream, "/page"),
        "moved-here" => redirect(
            stream,
            &format!("//localhost:{}/json", stream.local_addr()?.port()),
        ),
        "round" => redirect(stream, "/round"),
        "to-private" => redirect(stream, "http://10.0.0.1/"),
        "to-metadata" => redirect(stream, "http://169.254.169.254/latest/meta-data/"),
        "to-file" => redirect(stream, "file:///etc/passwd"),
        "to-user" => redirect(stream, "http://user:word@127.0.0.1/"),
        _ => send(stream, "200 OK", "Content-Type: text/plain", b"hello"),
    }
}

fn send(stream: &mut TcpStream, status: &str, headers: &str, body: &[u8]) -> std::io::Result<()> {
    let length = body.len();
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{headers}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    stream.write_all(body)
}

fn redirect(stream: &mut TcpStream, to: &str) -> std::io::Result<()> {
    send(stream, "302 Found", &format!("Location: {to}"), b"moved")
}

fn forever(stream: &mut TcpStream, piece: &[u8]) -> std::io::Result<()> {
    loop {
        stream.write_all(piece)?;
    }
}

/// 100 MB of one letter in little; members of gzip can follow one another without an end.
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
