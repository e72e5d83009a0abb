//! A local web server, reached by the machine's name, that serves files and Git repositories.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

pub(super) use crate::egress::ANY;
use crate::egress::machine;

/// Serves a folder. Paths below `private/` require a password, and paths that end in `.git` are repositories.
pub(super) struct Origin {
    folder: TempDir,
    /// `http://NAME:PORT`
    pub(super) url: String,
}

/// The parts of a request that this server uses.
struct Request {
    method: String,
    path: String,
    query: String,
    fields: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Origin {
    pub(super) fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = TcpListener::bind("0.0.0.0:0").unwrap();
        let url = format!(
            "http://{}:{}",
            machine(),
            listener.local_addr().unwrap().port()
        );
        let root = folder.path().to_owned();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let root = root.clone();
                std::thread::spawn(move || serve(stream, &root));
            }
        });
        Self { folder, url }
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).unwrap();
    }
}

/// Serves one connection. A client that disconnects early is not an error.
fn serve(stream: TcpStream, root: &Path) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    if let Some(request) = Request::read(&mut reader) {
        let _ = answer(stream, root, &request);
    }
}

fn answer(mut stream: TcpStream, root: &Path, request: &Request) -> std::io::Result<()> {
    if request.path.starts_with("/private/") {
        let head = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\nContent-Length: 0\r\n";
        return write!(stream, "{head}Connection: close\r\n\r\n");
    }
    if request.path.contains(".git/") {
        return stream.write_all(&git(root, request));
    }
    let Ok(content) = std::fs::read(root.join(&request.path[1..])) else {
        return write!(
            stream,
            "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        );
    };
    let kind = match request.path.rsplit('.').next() {
        Some("html") => "text/html",
        Some("json") => "application/json",
        Some("mp4") => "video/mp4",
        _ => "application/octet-stream",
    };
    let length = content.len();
    write!(
        stream,
        "HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    )?;
    if request.method == "HEAD" {
        Ok(())
    } else {
        stream.write_all(&content)
    }
}

/// Returns the response of Git's own server (git-http-backend(1)), which uses CGI (RFC 3875).
fn git(root: &Path, request: &Request) -> Vec<u8> {
    let field = |name: &str| {
        let found = request.fields.iter().find(|(it, _)| it == name);
        found.map_or("", |(_, value)| value.as_str())
    };
    let mut backend = Command::new("git")
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", root)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("GIT_CONFIG_COUNT", "2")
        .env("GIT_CONFIG_KEY_0", "uploadpack.allowFilter")
        .env("GIT_CONFIG_VALUE_0", "true")
        .env("GIT_CONFIG_KEY_1", "safe.directory")
        .env("GIT_CONFIG_VALUE_1", "*")
        .env("REQUEST_METHOD", &request.method)
        .env("PATH_INFO", &request.path)
        .env("QUERY_STRING", &request.query)
        .env("CONTENT_TYPE", field("content-type"))
        .env("CONTENT_LENGTH", request.body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", field("content-encoding"))
        .env("GIT_PROTOCOL", field("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    backend
        .stdin
        .take()
        .unwrap()
        .write_all(&request.body)
        .unwrap();
    let mut said = b"HTTP/1.1 200 OK\r\nConnection: close\r\n".to_vec();
    backend
        .stdout
        .take()
        .unwrap()
        .read_to_end(&mut said)
        .unwrap();
    backend.wait().unwrap();
    said
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split(' ');
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let mut fields = Vec::new();
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.split_once(':') else {
                break;
            };
            fields.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = fields.iter().find(|(name, _)| name == "content-length");
        let length = length.map_or(0, |(_, value)| value.parse().unwrap());
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        if fields.iter().any(|(name, _)| name == "transfer-encoding") {
            body = chunks(reader)?;
        }
        Some(Self {
            method,
            path: path.to_owned(),
            query: query.to_owned(),
            fields,
            body,
        })
    }
}

/// Reads a body of unknown length in the chunked encoding (RFC 9112, section 7.1).
fn chunks(reader: &mut impl BufRead) -> Option<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let length = usize::from_str_radix(line.trim(), 16).ok()?;
        let mut chunk = vec![0; length + 2];
        reader.read_exact(&mut chunk).ok()?;
        if length == 0 {
            return Some(body);
        }
        body.extend_from_slice(&chunk[..length]);
    }
}
