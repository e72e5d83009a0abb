//! Tests of the proxy's limits.

use super::*;

const SHORT: Duration = Duration::from_millis(150);

async fn tunnel(way: &RunningEgress) -> TcpStream {
    let mut client = way.proxy().await;
    client
        .write_all(b"CONNECT echo.test:7000 HTTP/1.1\r\n\r\n")
        .await
        .unwrap();
    client
}

#[tokio::test]
async fn a_connection_without_a_byte_is_cut_and_one_with_some_is_not() {
    let limits = ProxyLimits {
        idle: SHORT * 6,
        ..ProxyLimits::DEFAULT
    };
    let server = Echo::start().await;
    let way = RunningEgress::with_limits("echo.test:7000", server.names("echo.test"), limits);
    let mut client = tunnel(&way).await;
    read_head(&mut client).await;
    for _ in 0..6 {
        tokio::time::sleep(SHORT * 2).await;
        client.write_all(b"x").await.unwrap();
    }
    let error = timeout(TIMEOUT, client.read_u8()).await.unwrap();
    assert_eq!(
        error.unwrap_err().kind(),
        io::ErrorKind::ConnectionReset,
        "a cut is not an end"
    );
}

#[tokio::test]
async fn who_does_not_say_where_to_go_is_cut_off() {
    let limits = ProxyLimits {
        greeting: SHORT * 3,
        ..ProxyLimits::DEFAULT
    };
    let server = Echo::start().await;
    let names = server.names("echo.test");
    let way = RunningEgress::with_limits("echo.test:443 echo.test:7000", names, limits);
    let beginnings: [&[u8]; 4] = [
        b"",
        b"CONNECT echo.test:7000 HTTP/1.1\r\n",
        b"\x05",
        b"\x05\x01\0\x05\x01\0\x03\x09echo",
    ];
    for said in beginnings {
        let mut client = way.proxy().await;
        client.write_all(said).await.unwrap();
        read_all(&mut client).await;
    }
    // A tunnel for TLS in which the client does not complete its hello.
    let mut client = way.proxy().await;
    let request = b"CONNECT echo.test:443 HTTP/1.1\r\n\r\n\x16\x03";
    client.write_all(request).await.unwrap();
    assert!(read_all(&mut client).await.ends_with(b"\r\n\r\n"));
    assert!(server.heard().iter().all(Vec::is_empty));
}

#[tokio::test]
async fn one_connection_too_many_waits_until_another_ends() {
    let limits = ProxyLimits {
        connections: 1,
        ..ProxyLimits::DEFAULT
    };
    let server = Echo::start().await;
    let way = RunningEgress::with_limits("echo.test:7000", server.names("echo.test"), limits);
    let mut first = tunnel(&way).await;
    read_head(&mut first).await;
    let mut second = tunnel(&way).await;
    let early = timeout(SHORT, second.read_u8()).await;
    assert!(early.is_err(), "{early:?}");
    first.shutdown().await.unwrap();
    read_all(&mut first).await;
    assert!(read_head(&mut second).await.starts_with("HTTP/1.1 200 "));
}

#[tokio::test]
async fn every_connection_ends_with_the_way() {
    let server = Echo::start().await;
    let way = RunningEgress::open("echo.test:7000", server.names("echo.test"));
    let mut client = tunnel(&way).await;
    read_head(&mut client).await;
    let RunningEgress { mut serving, .. } = way;
    serving.shutdown().await;
    assert_eq!(read_all(&mut client).await, b"");
    // The server sees the end as well.
    let ended = timeout(TIMEOUT, async {
        while server.heard().is_empty() {
            tokio::task::yield_now().await;
        }
    });
    ended.await.unwrap();
}
