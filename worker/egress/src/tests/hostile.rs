//! Tests with hostile clients.

use super::*;
use proptest::prelude::*;

/// Opens egress to `*.allowed.com` with a resolver that knows every name, so that only the rules refuse. A destination
/// that passes the rules is visible by its lookup, and nothing listens there.
fn trap() -> RunningEgress {
    let address = closed_port();
    RunningEgress::with_resolver(
        "*.allowed.com:443 *.allowed.com:80 allowed.com:80",
        ProxyLimits::DEFAULT,
        move |_, _| Ok(vec![address]),
    )
}

#[tokio::test]
async fn no_way_to_write_a_host_leads_past_the_rules() {
    let way = trap();
    let long = format!("{}allowed.com", "a.".repeat(122));
    assert!(long.len() > 253);
    let hosts = [
        "evil.com",
        "evil\0.allowed.com",
        "evil.com\0.allowed.com",
        "evil.com\r\n.allowed.com",
        "evil.com\n.allowed.com",
        "evil.com .allowed.com",
        "evil.com\t.allowed.com",
        "evil.com%00.allowed.com",
        "evil.com%2f.allowed.com",
        "evil.com/.allowed.com",
        "evil.com#.allowed.com",
        "evil.com?.allowed.com",
        "evil.com\\.allowed.com",
        "evil.com:80.allowed.com",
        "www.allowed.com@evil.com",
        "evil.com@www.allowed.com",
        "[www.allowed.com]",
        "www.allowed.com..",
        ".allowed.com",
        "www..allowed.com",
        "allowed.com.evil.com",
        "evilallowed.com",
        "www.evilallowed.com",
        "www.allowed.com.",
        "localhost",
        "localhost.",
        "127.0.0.1",
        "127.1",
        "2130706433",
        "0x7f000001",
        "0x7f.1",
        "0177.0.0.1",
        "017700000001",
        "169.254.169.254",
        "2852039166",
        "[::1]",
        "::1",
        "[::ffff:127.0.0.1]",
        "[::ffff:169.254.169.254]",
        "0",
        "",
        "xn--",
        "www.allowed。com",
        "ｗｗｗ.allowed.com",
        long.as_str(),
    ];
    for host in hosts {
        // The only valid host, which shows that the others are not refused for another reason.
        let fine = host == "www.allowed.com.";
        let requests = [
            format!("CONNECT {host}:80 HTTP/1.1\r\n\r\n").into_bytes(),
            format!("GET http://{host}:80/ HTTP/1.1\r\n\r\n").into_bytes(),
            [
                &[5, 1, 0, 5, 1, 0, 3, host.len() as u8],
                host.as_bytes(),
                &[0, 80],
            ]
            .concat(),
        ];
        for request in requests {
            way.answer(&request).await;
            let mut lookups = way.lookups.lock().unwrap();
            assert_eq!(lookups.len(), usize::from(fine), "{host:?}: {lookups:?}");
            lookups.clear();
        }
    }
    for port in [
        "", ":", ":0", ":65536", ":443x", ":+443", ":-1", ":0443", ":22",
    ] {
        let request = format!("CONNECT www.allowed.com{port} HTTP/1.1\r\n\r\n");
        let answer = way.answer(request.as_bytes()).await;
        assert!(answer.starts_with("HTTP/1.1 40"), "{port:?}: {answer}");
        assert!(way.lookups().is_empty(), "{port:?}");
    }
}

fn any_bytes() -> impl Strategy<Value = Vec<u8>> {
    let raw = proptest::collection::vec(any::<u8>(), 0..120);
    // Texts with characters that parsers disagree on, around allowed and refused names.
    let host = "(www\\.|evil\\.com)?[.@:%\\[\\]\0 a-z0-9]{0,6}(allowed\\.com|evil\\.com)[.:0-9@\\\\/ ]{0,5}";
    let connect = host.prop_map(|host| format!("CONNECT {host} HTTP/1.1\r\n\r\n").into_bytes());
    let get = (host, "[ -~\r\n]{0,40}").prop_map(|(host, header)| {
        format!(
            "GET http://{host} HTTP/1.1\r\n{header}\r\n\r\nGET http://evil.com/ HTTP/1.1\r\n\r\n"
        )
        .into_bytes()
    });
    let socks = (host, any::<[u8; 2]>()).prop_map(|(host, port)| {
        let length = u8::try_from(host.len()).unwrap();
        [&[5, 1, 0, 5, 1, 0, 3, length], host.as_bytes(), &port].concat()
    });
    let socks_raw = raw
        .clone()
        .prop_map(|bytes| [vec![5, 1, 0, 5, 1, 0], bytes].concat());
    prop_oneof![raw, connect, get, socks, socks_raw]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn no_bytes_lead_past_the_rules(bytes in any_bytes()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let looked_up = runtime.block_on(async {
            let way = trap();
            way.answer(&bytes).await;
            way.lookups()
        });
        for place in looked_up {
            let (host, port) = place.split_once(':').unwrap();
            let below = host.ends_with(".allowed.com") && ["80", "443"].contains(&port);
            prop_assert!(below || place == "allowed.com:80", "{}", place);
        }
    }
}
