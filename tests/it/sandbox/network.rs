//! Network isolation: local listeners, and destinations of the machine.

use std::io::Write;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread;

use super::attack::{ServicePair, python};
use super::unique;
use super::user::User;

const GREETING: &str = "from outside";

/// Greets every connection, for as long as the test runs.
fn greet<C: Write>(mut accept: impl FnMut() -> C + Send + 'static) {
    thread::spawn(move || {
        loop {
            // The attacker may have closed the connection.
            let _ = accept().write_all(GREETING.as_bytes());
        }
    });
}

#[tokio::test]
async fn nothing_that_listens_on_the_machine_can_be_reached() {
    let user = User::new();
    let Some(services) = ServicePair::of(&user).await else {
        return;
    };
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let tcp_port = tcp.local_addr().unwrap().port();
    greet(move || tcp.accept().unwrap().0);
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let udp_port = udp.local_addr().unwrap().port();
    thread::spawn(move || {
        while let Ok((_, from)) = udp.recv_from(&mut [0; 1]) {
            let _ = udp.send_to(GREETING.as_bytes(), from);
        }
    });
    let home = tempfile::tempdir().unwrap();
    let open = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(home.path(), open(0o755)).unwrap();
    let path = home.path().join("socket");
    let unix = UnixListener::bind(&path).unwrap();
    std::fs::set_permissions(&path, open(0o777)).unwrap();
    greet(move || unix.accept().unwrap().0);
    let name = unique("socket");
    let abstract_address = SocketAddr::from_abstract_name(&name).unwrap();
    let unix = UnixListener::bind_addr(&abstract_address).unwrap();
    greet(move || unix.accept().unwrap().0);

    let path = path.display();
    let attacks = [
        (
            "INET",
            "STREAM",
            format!("('127.0.0.1', {tcp_port})"),
            "ECONNREFUSED",
        ),
        (
            "INET",
            "STREAM",
            format!("('0.0.0.0', {tcp_port})"),
            "ECONNREFUSED",
        ),
        (
            "INET6",
            "STREAM",
            format!("('::ffff:127.0.0.1', {tcp_port})"),
            "ECONNREFUSED",
        ),
        (
            "INET",
            "DGRAM",
            format!("('127.0.0.1', {udp_port})"),
            "ECONNREFUSED",
        ),
        ("UNIX", "STREAM", format!("'{path}'"), "ENOENT"),
        ("UNIX", "STREAM", format!("'\\0{name}'"), "ECONNREFUSED"),
    ];
    let connect = |(family, kind, address, _): &(&str, &str, String, &str)| {
        python(&format!(
            "peer = socket.socket(socket.AF_{family}, socket.SOCK_{kind})
peer.settimeout(2)
peer.connect({address})
'{kind}' == 'DGRAM' and peer.send(b'x')
assert peer.recv(100) == b'{GREETING}'"
        ))
    };
    let programs = attacks.each_ref().map(connect);
    for (tried, (.., reason)) in services.all(&programs).await.into_iter().zip(attacks) {
        tried.fails_inside(reason).succeeds_outside();
    }
}

#[tokio::test]
async fn the_machines_networks_and_the_cloud_s_metadata_are_not_there() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let addresses = [
        ("INET", "169.254.169.254"),
        ("INET", "192.0.2.1"),
        ("INET6", "2001:db8::1"),
        ("INET6", "fd00:ec2::254"),
    ];
    let connect = |(family, address)| {
        python(&format!(
            "for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
    peer = socket.socket(socket.AF_{family}, kind)
    peer.settimeout(0.3)
    try:
        peer.connect(('{address}', 80))
    except TimeoutError:
        pass"
        ))
    };
    let tried = services.all(&addresses.map(connect)).await;
    for (tried, (family, _)) in tried.into_iter().zip(addresses) {
        let tried = tried.fails_inside("ENETUNREACH");
        // The machine may have no IPv6 either.
        if family == "INET" {
            tried.differs_outside("ENETUNREACH");
        }
    }
    services
        .python(
            "assert [name for _, name in socket.if_nameindex()] != ['lo'] or sys.exit('only lo')",
        )
        .await
        .fails_inside("only lo")
        .succeeds_outside();
    services
        .bash("tail -n +2 /proc/net/route | grep . || { echo no route; false; }")
        .await
        .fails_inside("no route")
        .succeeds_outside();
    services
        .python("socket.getaddrinfo('localhost', 80); socket.getaddrinfo('example.com', 80)")
        .await
        .fails_inside("Name or service not known");
}

#[tokio::test]
async fn sockets_of_families_that_a_network_namespace_does_not_confine_are_refused() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let families = [
        ("packet", libc::AF_PACKET),
        ("vsock", libc::AF_VSOCK),
        ("alg", libc::AF_ALG),
        ("key", libc::AF_KEY),
        ("bluetooth", libc::AF_BLUETOOTH),
        ("can", libc::AF_CAN),
        ("tipc", libc::AF_TIPC),
        ("rds", libc::AF_RDS),
        ("xdp", libc::AF_XDP),
        ("appletalk", libc::AF_APPLETALK),
    ];
    // Try all socket types, because families support different ones.
    let open = |(_, family)| {
        python(&format!(
            "for kind in (1, 2, 3, 5):
    try:
        socket.socket({family}, kind)
        break
    except OSError as error:
        last = error
else:
    raise last"
        ))
    };
    let tried = services.all(&families.map(open)).await;
    for (tried, (name, _)) in tried.into_iter().zip(families) {
        let tried = tried.fails_inside("EPERM");
        if name == "packet" {
            tried.succeeds_outside();
        } else {
            // Not every kernel has every family.
            tried.differs_outside("EPERM");
        }
    }
    let number = libc::SYS_socketpair;
    services
        .python(&format!(
            "call({number}, {}, 1, 0, b'12345678')",
            libc::AF_TIPC
        ))
        .await
        .fails_inside("EPERM")
        .differs_outside("EPERM");
    services
        .python("socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)")
        .await
        .fails_inside("EPERM")
        .succeeds_outside();
}

#[tokio::test]
async fn a_command_can_talk_to_itself() {
    let Some(services) = ServicePair::of_root().await else {
        return;
    };
    let tried = services
        .python(
            "for family, address in ((socket.AF_INET, ('127.0.0.1', 0)), (socket.AF_INET6, ('::1', 0)), (socket.AF_UNIX, '\\0mine')):
    listener = socket.socket(family)
    listener.bind(address)
    listener.listen()
    peer = socket.socket(family)
    peer.connect(listener.getsockname())
    peer.send(b'hello')
    print(listener.accept()[0].recv(5))",
        )
        .await
        .succeeds_outside();
    assert_eq!(tried.inside.code, 0, "{:#?}", tried.inside);
}
