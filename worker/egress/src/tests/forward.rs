//! Tests of forwarded ports.

use super::*;
use crate::sni::tests::client_hello;

#[test]
fn each_host_of_its_own_name_has_an_address_and_a_listener_for_each_port() {
    let words = "web.test mail.test:587 *.wild.test mail.test:993 web.test:443";
    let network = Network::parse(words.split(' ')).unwrap();
    let egress = Egress::new(&network, &Map::new(), |_| None, Arc::default());
    let egress = egress.unwrap().unwrap();
    let listeners: Vec<String> = egress
        .listeners()
        .iter()
        .map(SocketAddr::to_string)
        .collect();
    assert_eq!(
        listeners,
        [
            "127.0.0.1:3128",
            "127.0.1.1:443",
            "127.0.1.1:80",
            "127.0.1.2:587",
            "127.0.1.2:993"
        ]
    );
    assert_eq!(egress.hosts(), "127.0.1.1 web.test\n127.0.1.2 mail.test\n");
    assert_eq!(
        egress.allowed(),
        "web.test:443, web.test:80, mail.test:587, *.wild.test:443, *.wild.test:80, mail.test:993, web.test:443"
    );
}

#[test]
fn public_hosts_are_reached_by_the_proxy_alone_and_none_by_nothing() {
    let new = |network| Egress::new(&network, &Map::new(), |_| None, Arc::default()).unwrap();
    assert!(new(Network::None).is_none());
    let egress = new(Network::Public).unwrap();
    assert_eq!(egress.listeners().len(), 1);
    assert_eq!(egress.hosts(), "");
    let environment = egress.environment();
    let get = |wanted| {
        let variable = environment.iter().find(|(name, _)| name == wanted);
        variable.map(|(_, value)| value.as_str())
    };
    for name in ["http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY"] {
        assert_eq!(get(name), Some("http://127.0.0.1:3128"), "{name}");
    }
    for name in ["all_proxy", "ALL_PROXY"] {
        assert_eq!(get(name), Some("socks5h://127.0.0.1:3128"), "{name}");
    }
    for name in ["no_proxy", "NO_PROXY"] {
        assert_eq!(get(name), Some("localhost,127.0.0.1,::1"), "{name}");
    }
    assert_eq!(environment.len(), 8);
}

#[tokio::test]
async fn a_listener_leads_to_its_own_host() {
    let (one, two) = (Echo::start().await, Echo::start().await);
    let names = one.names("one.test").with("two.test", &[two.address]);
    let way = RunningEgress::open("one.test:587 two.test:5432", names);
    for (index, server, said) in [(1, &one, b"EHLO"), (2, &two, b"psql")] {
        let mut client = way.entrance(index).await;
        client.write_all(said).await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut client).await, said);
        assert_eq!(server.heard(), [said]);
    }
    assert_eq!(way.lookups(), ["one.test:587", "two.test:5432"]);
}

#[tokio::test]
async fn tls_through_a_listener_must_ask_for_its_host() {
    let server = Echo::start().await;
    let way = RunningEgress::open("web.test:443", server.names("web.test"));
    let say = async |hello: &[u8]| {
        let mut client = way.entrance(1).await;
        client.write_all(hello).await.unwrap();
        client.shutdown().await.unwrap();
        read_all(&mut client).await
    };
    let hello = client_hello(Some("web.test"));
    assert_eq!(say(&hello).await, hello);
    let alert = say(&client_hello(Some("evil.test"))).await;
    assert_eq!(alert[0], 21);
    assert_eq!(
        way.egress.refused(),
        ["evil.test:443 (asked for at web.test)"]
    );
}

#[tokio::test]
async fn a_listener_of_a_host_that_is_private_hangs_up() {
    let private: SocketAddr = "192.168.0.1:587".parse().unwrap();
    let names = Names::default().with("mail.test", &[private]);
    let way = RunningEgress::open("mail.test:587", names);
    assert_eq!(read_all(&mut way.entrance(1).await).await, b"");
    assert_eq!(
        way.egress.refused(),
        [
            "mail.test:587 (its address is not public; the operator can allow it with --egress-allow 192.168.0.0/16)"
        ]
    );
}
