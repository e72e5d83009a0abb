//! The head of a request to the proxy, parsed so that only one interpretation is possible.

mod fields;

use httparse::Status;
use shared::host::HostError;

use super::destination::Destination;
use super::policy::printable;
use fields::Fields;

/// The maximum number of headers. A request with more is refused.
const MAX_HEADERS: usize = 100;

/// A client's request to the proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ProxyRequest {
    /// `CONNECT host:port`
    Tunnel { host: Destination, port: u16 },
    /// `GET http://host/path`, with the request for the host.
    Forward {
        host: Destination,
        port: u16,
        head: Vec<u8>,
        body: BodyFraming,
    },
}

/// The way in which the body of a request ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BodyFraming {
    /// After this size, which is 0 if there is no body.
    Sized(u64),
    /// With the last chunk.
    Chunked,
}

/// The reason why a request is not served.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProxyRequestError {
    #[error("{shown} is refused: {cause}")]
    Target { shown: String, cause: HostError },
    #[error("the request is malformed: {0}")]
    Malformed(&'static str),
}

use ProxyRequestError::Malformed;

/// Parses a head, which ends with an empty line.
pub(super) fn parse(head: &[u8]) -> Result<ProxyRequest, ProxyRequestError> {
    if !has_plain_lines(head) {
        return Err(Malformed("its lines must end in CR LF"));
    }
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut request = httparse::Request::new(&mut headers);
    match request.parse(head) {
        Ok(Status::Complete(length)) if length == head.len() => {}
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed("it has too many headers")),
        _ => return Err(Malformed("it is not HTTP/1.1")),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(Malformed("it is not HTTP/1.1"));
    };
    let fields = Fields::read(request.headers, version)?;
    if method == "CONNECT" {
        let (host, port) = place(target)?;
        let port = port.ok_or(Malformed("CONNECT takes host:port"))?;
        fields.check_host(&host, port)?;
        return Ok(ProxyRequest::Tunnel { host, port });
    }
    let (authority, path) = split_target(target)?;
    let (host, port) = place(authority)?;
    let port = port.unwrap_or(80);
    fields.check_host(&host, port)?;
    let line = format!("{method} {path} HTTP/1.{version}\r\n");
    let head = fields.rewritten(line, &host, port);
    Ok(ProxyRequest::Forward {
        host,
        port,
        head,
        body: fields.body,
    })
}

/// Returns whether CR and LF occur only together. Some parsers accept one of them alone as the end of a line.
fn has_plain_lines(head: &[u8]) -> bool {
    let pairs = head.windows(2).filter(|pair| pair == b"\r\n").count();
    let alone = |wanted| head.iter().filter(|byte| **byte == wanted).count();
    pairs == alone(b'\r') && pairs == alone(b'\n')
}

fn place(text: &str) -> Result<(Destination, Option<u16>), ProxyRequestError> {
    Destination::parse_with_port(text).map_err(|cause| ProxyRequestError::Target {
        shown: printable(text.as_bytes()),
        cause,
    })
}

/// Splits an absolute URL into its authority, and the path and query to request.
fn split_target(target: &str) -> Result<(&str, String), ProxyRequestError> {
    const SCHEME: &str = "http://";
    let scheme = target.get(..SCHEME.len()).unwrap_or_default();
    if !scheme.eq_ignore_ascii_case(SCHEME) {
        return Err(Malformed(
            "this is a proxy, which takes CONNECT host:port or an http:// URL",
        ));
    }
    if !target.bytes().all(|byte| byte.is_ascii_graphic()) || target.contains('#') {
        return Err(Malformed("its URL has characters that must be escaped"));
    }
    let rest = &target[SCHEME.len()..];
    let at = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(at);
    let slash = if path.starts_with('/') { "" } else { "/" };
    Ok((authority, format!("{slash}{path}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn forward(head: &str) -> (String, u16, String, BodyFraming) {
        match parse(head.as_bytes()).unwrap() {
            ProxyRequest::Forward {
                host,
                port,
                head,
                body,
            } => (
                host.to_string(),
                port,
                String::from_utf8(head).unwrap(),
                body,
            ),
            tunnel @ ProxyRequest::Tunnel { .. } => panic!("{tunnel:?}"),
        }
    }

    fn refusal(head: &str) -> String {
        parse(head.as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_tunnel_goes_to_the_host_and_port_that_connect_names() {
        for head in [
            "CONNECT GitHub.com.:443 HTTP/1.1\r\nHost: github.com:443\r\n\r\n",
            "CONNECT github.com:443 HTTP/1.0\r\n\r\n",
            "CONNECT github.com:443 HTTP/1.1\r\nhost: GITHUB.com\r\nProxy-Connection: x\r\n\r\n",
        ] {
            let tunnel = ProxyRequest::Tunnel {
                host: Destination::parse("github.com").unwrap(),
                port: 443,
            };
            assert_eq!(parse(head.as_bytes()), Ok(tunnel), "{head}");
        }
    }

    #[test]
    fn a_forwarded_request_loses_what_is_not_for_the_host() {
        let (host, port, head, body) = forward(
            "POST HTTP://Example.com:8080/a%20b?c=http://d HTTP/1.1\r\nHost: example.com:8080\r\n\
             Connection: keep-alive, X-Mine\r\nX-Mine: 1\r\nProxy-Authorization: secret\r\n\
             Proxy-Connection: keep-alive\r\nTE: trailers\r\nUpgrade: h2c\r\nAccept: */*\r\n\
             Content-Length: 5\r\n\r\n",
        );
        assert_eq!(
            (host.as_str(), port, body),
            ("example.com", 8080, BodyFraming::Sized(5))
        );
        assert_eq!(
            head,
            "POST /a%20b?c=http://d HTTP/1.1\r\nhost: example.com:8080\r\nAccept: */*\r\n\
             Content-Length: 5\r\nconnection: close\r\n\r\n"
        );
        let (_, port, head, _) = forward("GET http://example.com?q HTTP/1.0\r\n\r\n");
        assert_eq!(port, 80);
        assert_eq!(
            head,
            "GET /?q HTTP/1.0\r\nhost: example.com\r\nconnection: close\r\n\r\n"
        );
        let chunked = "PUT http://a.b/ HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n\r\n";
        assert_eq!(forward(chunked).3, BodyFraming::Chunked);
    }

    #[test]
    fn a_request_with_two_readings_is_malformed() {
        let get = |headers: &str| format!("GET http://a.b/ HTTP/1.1\r\n{headers}\r\n");
        let requests = [
            get("Host: evil.com\r\n"),
            get("Host: a.b:81\r\n"),
            get("Host: a.b\r\nHost: a.b\r\n"),
            get("Host: a.b@evil.com\r\n"),
            get("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n"),
            get("Content-Length: 1\r\nContent-Length: 1\r\n"),
            get("Content-Length: +1\r\n"),
            get("Content-Length: 0x1\r\n"),
            get("Content-Length: \r\n"),
            get("Content-Length: 99999999999999999999\r\n"),
            get("Transfer-Encoding: gzip, chunked\r\n"),
            get("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"),
            get("Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n"),
            get("Connection: close, Content-Length\r\nContent-Length: 1\r\n"),
            get("X: a\r\n b\r\n"),
            get(" X: a\r\n"),
            get("X : a\r\n"),
            get("X: a\nHost: evil.com\r\n"),
            get("X: a\rHost: evil.com\r\n"),
            get("X: a\0b\r\n"),
            get("X: a\n\nGET http://evil.com/ HTTP/1.1\r\n"),
            get(&"X: a\r\n".repeat(MAX_HEADERS + 1)),
            "GET http://a.b/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n".to_owned(),
            "GET http://a.b/ HTTP/2.0\r\n\r\n".to_owned(),
            "GET http://a.b/\r\n\r\n".to_owned(),
            "GET http://a.b/ x HTTP/1.1\r\n\r\n".to_owned(),
            "GET http://a.b/é HTTP/1.1\r\n\r\n".to_owned(),
            "GET http://a.b/#c HTTP/1.1\r\n\r\n".to_owned(),
            "GET /path HTTP/1.1\r\nHost: a.b\r\n\r\n".to_owned(),
            "GET https://a.b/ HTTP/1.1\r\n\r\n".to_owned(),
            "GET ftp://a.b/ HTTP/1.1\r\n\r\n".to_owned(),
            "OPTIONS * HTTP/1.1\r\n\r\n".to_owned(),
            "connect a.b:443 HTTP/1.1\r\n\r\n".to_owned(),
            "CONNECT a.b HTTP/1.1\r\n\r\n".to_owned(),
            "CONNECT a.b:443 HTTP/1.1\r\nHost: evil.com\r\n\r\n".to_owned(),
            "\r\n\r\n".to_owned(),
            "\r\n".to_owned(),
            String::new(),
        ];
        for request in requests {
            let refusal = refusal(&request);
            assert!(
                refusal.starts_with("the request is malformed: "),
                "{request:?}: {refusal}"
            );
        }
    }

    #[test]
    fn a_target_that_is_no_name_is_refused_and_shown() {
        let long = format!("{}com", "a.".repeat(126));
        let targets = [
            "2852039166:80",
            "0177.0.0.1:80",
            "0x7f.1:80",
            "127.1:80",
            "::1",
            "a.b:0",
            "a.b:65536",
            "a.b:",
            "a.b:80:443",
            "user@a.b:80",
            "evil.com%00.a.b:80",
            "a..b:80",
            "a.b..:80",
            "my_host.b:80",
            long.as_str(),
        ];
        for target in targets {
            for head in [
                format!("CONNECT {target} HTTP/1.1\r\n\r\n"),
                format!("GET http://{target}/ HTTP/1.1\r\n\r\n"),
            ] {
                let refusal = refusal(&head);
                let shown = format!("{} is refused: ", printable(target.as_bytes()));
                assert!(refusal.starts_with(&shown), "{head:?}: {refusal}");
            }
        }
        // Targets that the grammar of a request line already forbids.
        for target in ["a.b:80 c", "evil\0.a.b:80", "a.b:80\r\nX: y", "a.b\t:80"] {
            parse(format!("CONNECT {target} HTTP/1.1\r\n\r\n").as_bytes()).unwrap_err();
        }
    }

    proptest! {
        #[test]
        fn what_is_sent_on_is_one_request_to_the_host_that_was_judged(
            junk in proptest::collection::vec(any::<u8>(), 0..200),
            target in "(http://)?[a-z.:@/%0-9\\[\\]?# ]{0,30}",
            header in "[ -~\r\n\t]{0,60}",
        ) {
            let _ = parse(&junk);
            for method in ["CONNECT", "GET"] {
                let request = format!("{method} {target} HTTP/1.1\r\n{header}\r\n\r\n");
                let Ok(ProxyRequest::Forward { host, head, .. }) = parse(request.as_bytes()) else {
                    continue;
                };
                let head = String::from_utf8(head).unwrap();
                let hosts: Vec<_> = head
                    .lines()
                    .filter(|line| line.to_ascii_lowercase().starts_with("host"))
                    .filter(|line| line[4..].trim_start().starts_with(':'))
                    .collect();
                let judged = format!("host: {host}");
                prop_assert!(hosts.len() == 1 && hosts[0].starts_with(&judged), "{}", head);
                prop_assert_eq!(head.find("\r\n\r\n"), Some(head.len() - 4));
            }
        }
    }
}
