//! Tests of the CONNECT method.

use super::*;
use crate::destination::Destination;
use crate::policy::Denied;
use crate::sni::tests::client_hello;

async fn tunnel(way: &RunningEgress, place: &str) -> TcpStream {
    let mut client = way.proxy().await;
    let request = format!("CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let head = read_head(&mut client).await;
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    client
}

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_and_passes_on_the_end_of_one() {
    let server = Echo::start().await;
    let way = RunningEgress::open("echo.test:7000", server.names("echo.test"));
    let mut client = tunnel(&way, "Echo.Test.:7000").await;
    client.write_all(b"ping").await.unwrap();
    // The server answers only after this end.
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, b"ping");
    assert_eq!(way.lookups(), ["echo.test:7000"]);
    assert!(way.egress.refused().is_empty());
}

#[tokio::test]
async fn what_a_client_sends_before_the_answer_is_not_lost() {
    let server = Echo::start().await;
    let way = RunningEgress::open("echo.test:7000", server.names("echo.test"));
    let answer = way
        .answer(b"CONNECT echo.test:7000 HTTP/1.1\r\n\r\nearly")
        .await;
    assert!(answer.ends_with("\r\n\r\nearly"), "{answer}");
}

#[tokio::test]
async fn a_refused_host_is_named_with_the_allowed_ones_and_never_looked_up() {
    let server = Echo::start().await;
    let way = RunningEgress::open("echo.test:7000 *.b.test", server.names("evil.test"));
    let request = b"CONNECT Evil.test:7000 HTTP/1.1\r\n\r\n";
    let answer = way.answer(request).await;
    let body = "evil.test:7000 is refused. This job may reach echo.test:7000, *.b.test:443, *.b.test:80.\n";
    assert!(
        answer.starts_with("HTTP/1.1 403 ") && answer.ends_with(body),
        "{answer}"
    );
    way.answer(request).await;
    way.answer(b"CONNECT echo.test:7001 HTTP/1.1\r\n\r\n").await;
    assert_eq!(way.lookups(), Vec::<String>::new());
    assert_eq!(way.egress.refused(), ["evil.test:7000", "echo.test:7001"]);
    assert!(way.egress.refused().is_empty(), "it was taken");
    assert_eq!(server.heard().len(), 0);
}

#[tokio::test]
async fn only_twenty_refused_places_are_kept() {
    let way = RunningEgress::open("echo.test:7000", Names::default());
    for n in 0..30 {
        let request = format!("CONNECT h{n}.test:443 HTTP/1.1\r\n\r\n");
        way.answer(request.as_bytes()).await;
    }
    assert_eq!(way.egress.refused().len(), 20);
}

#[tokio::test]
async fn a_name_that_stands_for_a_private_address_is_refused() {
    let private: SocketAddr = "10.0.0.1:7000".parse().unwrap();
    let metadata: SocketAddr = "[::ffff:169.254.169.254]:7000".parse().unwrap();
    let names = Names::default().with("inner.test", &[private, metadata]);
    let way = RunningEgress::open("inner.test:7000", names);
    let answer = way
        .answer(b"CONNECT inner.test:7000 HTTP/1.1\r\n\r\n")
        .await;
    assert!(answer.starts_with("HTTP/1.1 403 "), "{answer}");
    assert!(answer.contains("its address is not public"), "{answer}");
    assert_eq!(
        way.egress.refused(),
        [
            "inner.test:7000 (its address is not public; the operator can allow it with --egress-allow 10.0.0.0/8)"
        ]
    );
}

#[tokio::test]
async fn localhost_of_the_worker_is_not_public() {
    let resolve = |host: &HostName, port: u16| {
        use std::net::ToSocketAddrs;
        Ok((host.as_str(), port).to_socket_addrs()?.collect())
    };
    let network = Network::parse(["public"]).unwrap();
    let rules = source::rules(&network, &Map::new(), |_| None).unwrap();
    let policy = Policy::new(
        rules.unwrap(),
        AddressPolicy::default(),
        Arc::new(resolve),
        ProxyLimits::DEFAULT,
    );
    let host = Destination::parse("localhost").unwrap();
    let denied = policy.connect(&host, 80).await.unwrap_err();
    assert_eq!(denied, Denied::NotPublic(Some("127.0.0.0/8")));
}

/// Opens the egress of a job with access to the public web. The operator opened 127.0.0.0/8.
fn public_way(server: SocketAddr) -> RunningEgress {
    let names = Names::default()
        .with("wiki.test", &[server])
        .with("public.test", &["1.1.1.1:7000".parse().unwrap()])
        .with("other.test", &["10.0.0.1:7000".parse().unwrap()]);
    RunningEgress::open("public", names)
}

#[tokio::test]
async fn the_public_web_comes_with_the_networks_that_the_operator_opened() {
    let server = Echo::start().await;
    let way = public_way(server.address);
    let port = server.address.port();
    for place in [format!("wiki.test:{port}"), server.address.to_string()] {
        let mut client = tunnel(&way, &place).await;
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut client).await, b"", "{place}");
    }
    assert_eq!(server.heard().len(), 2);
    assert_eq!(
        way.egress.allowed(),
        "any public host on ports 80 and 443, and hosts in 127.0.0.0/8 on any port"
    );
}

#[tokio::test]
async fn other_ports_of_public_hosts_and_other_private_networks_stay_closed() {
    let way = public_way(closed_port());
    let private =
        "is refused: its address is not public; the operator can allow it with --egress-allow";
    for (place, words) in [
        (
            "public.test:7000",
            "This job may reach any public host on ports 80 and 443",
        ),
        (
            "1.1.1.1:80",
            "an IP address is not accepted: use a host name",
        ),
        (
            "169.254.169.254:80",
            "an IP address is not accepted: use a host name",
        ),
        ("other.test:80", private),
        ("other.test:7000", private),
        ("10.0.0.1:7000", "--egress-allow 10.0.0.0/8"),
        ("192.168.3.4:80", "--egress-allow 192.168.0.0/16"),
        ("[fd00::1]:80", "--egress-allow fc00::/7"),
    ] {
        let request = format!("CONNECT {place} HTTP/1.1\r\n\r\n");
        let answer = way.answer(request.as_bytes()).await;
        assert!(
            answer.starts_with("HTTP/1.1 403 ") && answer.contains(words),
            "{place}: {answer}"
        );
    }
    let way = RunningEgress::open("web.test:80", Names::default());
    let answer = way.answer(b"CONNECT 127.0.0.1:80 HTTP/1.1\r\n\r\n").await;
    assert!(
        answer.contains("an IP address is not accepted"),
        "a job of named hosts: {answer}"
    );
}

#[tokio::test]
async fn only_the_permitted_addresses_of_a_name_are_tried_one_after_the_other() {
    let server = Echo::start().await;
    let private: SocketAddr = "10.0.0.1:7000".parse().unwrap();
    let addresses = [private, closed_port(), server.address];
    let way = RunningEgress::open(
        "echo.test:7000",
        Names::default().with("echo.test", &addresses),
    );
    let mut client = tunnel(&way, "echo.test:7000").await;
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, b"");
    assert_eq!(way.lookups().len(), 1, "a second one might say otherwise");
    assert_eq!(server.heard(), [b""]);
}

#[tokio::test]
async fn a_host_that_cannot_be_reached_is_said_to_be_so() {
    let names = Names::default()
        .with("closed.test", &[closed_port()])
        .with("empty.test", &[]);
    let way = RunningEgress::open("*.test:7000", names);
    for (name, text) in [
        ("closed.test", "closed.test:7000 cannot be reached."),
        ("empty.test", "empty.test cannot be resolved."),
        ("other.test", "other.test cannot be resolved."),
    ] {
        let request = format!("CONNECT {name}:7000 HTTP/1.1\r\n\r\n");
        let answer = way.answer(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 502 "), "{answer}");
        assert!(answer.contains(text), "{answer}");
    }
    assert!(way.egress.refused().is_empty(), "they were allowed");
}

#[tokio::test]
async fn a_look_up_that_takes_too_long_is_given_up() {
    let limits = ProxyLimits {
        connect: Duration::from_millis(50),
        ..ProxyLimits::DEFAULT
    };
    let way = RunningEgress::with_resolver("slow.test:7000", limits, |_, _| {
        std::thread::sleep(Duration::from_millis(500));
        Ok(Vec::new())
    });
    let answer = way.answer(b"CONNECT slow.test:7000 HTTP/1.1\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 504 "), "{answer}");
}

#[tokio::test]
async fn tls_must_ask_for_the_host_of_the_tunnel() {
    let server = Echo::start().await;
    let way = RunningEgress::open("web.test:443", server.names("web.test"));
    for name in [Some("WEB.test"), Some("web.test"), None] {
        let hello = client_hello(name);
        let mut client = tunnel(&way, "web.test:443").await;
        for piece in hello.chunks(100) {
            client.write_all(piece).await.unwrap();
        }
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut client).await, hello);
    }
    assert_eq!(server.heard().len(), 3);

    for (said, refused) in [
        (
            client_hello(Some("evil.test")),
            "evil.test:443 (asked for at web.test)",
        ),
        (
            client_hello(Some("a.web.test")),
            "a.web.test:443 (asked for at web.test)",
        ),
        (
            b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n".to_vec(),
            "web.test:443 (not with TLS)",
        ),
    ] {
        let mut client = tunnel(&way, "web.test:443").await;
        client.write_all(&said).await.unwrap();
        let alert = read_all(&mut client).await;
        assert_eq!(alert, [21, 3, 3, 0, 2, 2, 112]);
        assert_eq!(way.egress.refused(), [refused]);
    }
    let heard = server.heard();
    assert!(heard[3..].iter().all(Vec::is_empty), "nothing got through");
}
