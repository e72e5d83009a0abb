//! Users for jobs, where the worker is root and can become anyone.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU32, Ordering};

/// Numbers that neither distributions nor systemd give to anyone.
const FIRST: u32 = 60_706;
const COUNT: u32 = 478;

/// Gives each job a user.
#[derive(Default)]
pub(super) struct Identities {
    next: AtomicU32,
}

/// A user while a job has it.
pub(crate) struct Identity {
    pub(crate) id: u32,
    /// Nobody else on this machine gets the user while this is held.
    _held: Option<UnixListener>,
}

impl Identities {
    /// A user that other jobs of this worker have only when all are taken: namespaces keep them apart all the same.
    pub(super) fn take(&self) -> Identity {
        Identity {
            id: FIRST + self.next.fetch_add(1, Ordering::Relaxed) % COUNT,
            _held: None,
        }
    }

    /// A user that nobody else has, whichever worker they belong to; `None` if all are taken.
    pub(super) fn take_alone(&self) -> Option<Identity> {
        (FIRST..FIRST + COUNT).find_map(|id| {
            // A name outside of the file system, which goes with its holder.
            let name = SocketAddr::from_abstract_name(format!("skillet-user-{id}")).ok()?;
            let held = UnixListener::bind_addr(&name).ok()?;
            Some(Identity {
                id,
                _held: Some(held),
            })
        })
    }
}
