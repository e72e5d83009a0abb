//! Tests of SOCKS 5.

use super::*;

/// The greeting and a request of one kind.
fn request(command: u8, kind: u8, target: &[u8], port: u16) -> Vec<u8> {
    let mut bytes = vec![5, 1, 0, 5, command, 0, kind];
    bytes.extend_from_slice(target);
    bytes.extend_from_slice(&port.to_be_bytes());
    bytes
}

fn named(name: &[u8]) -> Vec<u8> {
    [&[u8::try_from(name.len()).unwrap()], name].concat()
}

/// Returns the reply to a request, after the selection of the method.
async fn reply(way: &RunningEgress, said: &[u8]) -> Vec<u8> {
    let mut client = way.proxy().await;
    client.write_all(said).await.unwrap();
    client.shutdown().await.unwrap();
    let answer = read_all(&mut client).await;
    assert_eq!(answer[..2], [5, 0]);
    answer[2..].to_vec()
}

#[tokio::test]
async fn a_named_host_is_reached() {
    let server = Echo::start().await;
    let way = RunningEgress::open("echo.test:7000", server.names("echo.test"));
    let said = [request(1, 3, &named(b"Echo.test"), 7000), b"ping".to_vec()].concat();
    let answer = reply(&way, &said).await;
    assert_eq!(
        answer,
        [&[5, 0, 0, 1, 0, 0, 0, 0, 0, 0][..], b"ping"].concat()
    );
}

#[tokio::test]
async fn a_refused_host_is_named_in_the_result_and_never_looked_up() {
    let way = RunningEgress::open("echo.test:7000", Names::default());
    let hosts: [(Vec<u8>, u16, &str); 8] = [
        (named(b"evil.test"), 7000, "evil.test:7000"),
        (named(b"echo.test"), 443, "echo.test:443"),
        (named(b"evil\0.echo.test"), 7000, "evil\\x00.echo.test:7000"),
        (named(b"echo.test\0"), 7000, "echo.test\\x00:7000"),
        (named(b"echo.test\r\n"), 7000, "echo.test\\r\\n:7000"),
        (named(b"127.0.0.1"), 7000, "127.0.0.1:7000"),
        (named(b"echo.test"), 0, "echo.test:0"),
        (named(b"\xff\xfe"), 7000, "\\xff\\xfe:7000"),
    ];
    for (host, port, refused) in hosts {
        assert_eq!(reply(&way, &request(1, 3, &host, port)).await[..2], [5, 2]);
        assert_eq!(way.egress.refused(), [refused]);
    }
    assert!(way.lookups().is_empty());
}

#[tokio::test]
async fn addresses_and_other_commands_are_refused() {
    let way = RunningEgress::open("public", Names::default());
    let v6 = [0_u8; 16];
    for (said, code) in [
        (request(1, 1, &[1, 1, 1, 1], 443), 2),
        (request(1, 4, &v6, 443), 2),
        (request(2, 3, &named(b"a.test"), 443), 7),
        (request(3, 3, &named(b"a.test"), 443), 7),
        (request(1, 9, b"", 443), 8),
        (request(1, 3, &named(b"a.test"), 443), 4),
        (
            [&[5, 1, 0, 4, 1, 0, 3][..], &named(b"a.test"), &[1, 187]].concat(),
            1,
        ),
    ] {
        assert_eq!(reply(&way, &said).await[..2], [5, code], "{said:?}");
    }
    assert_eq!(way.egress.refused(), ["1.1.1.1:443", "[::]:443"]);
    assert_eq!(way.lookups(), ["a.test:443"]);
}

#[tokio::test]
async fn a_client_that_wants_to_authenticate_is_sent_away() {
    let way = RunningEgress::open("public", Names::default());
    let answer = way.answer(&[5, 1, 2]).await;
    assert_eq!(answer.as_bytes(), "\u{5}\u{fffd}".as_bytes());
}
