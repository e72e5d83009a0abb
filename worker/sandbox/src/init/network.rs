//! The loopback interface of a new network namespace, which is down at first.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsRawFd;

use rustix::net::{AddressFamily, SocketType, socket};

/// Brings up the loopback interface and listens on the addresses. The worker serves the listeners.
pub(super) fn listen(addresses: &[SocketAddr]) -> io::Result<Vec<TcpListener>> {
    bring_up()?;
    addresses.iter().map(TcpListener::bind).collect()
}

/// Sets the interface flags (netdevice(7), SIOCSIFFLAGS).
fn bring_up() -> io::Result<()> {
    let socket = socket(AddressFamily::INET, SocketType::DGRAM, None)?;
    let mut name: [libc::c_char; libc::IFNAMSIZ] = [0; libc::IFNAMSIZ];
    name[0] = b'l' as libc::c_char;
    name[1] = b'o' as libc::c_char;
    let request = libc::ifreq {
        ifr_name: name,
        ifr_ifru: libc::__c_anonymous_ifr_ifru {
            ifru_flags: (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short,
        },
    };
    // SAFETY: the request is initialized and outlives the call, which only reads it.
    #[expect(unsafe_code)]
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request) };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
