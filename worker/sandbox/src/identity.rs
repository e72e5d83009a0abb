//! Users for jobs, if the worker is root and can change users.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::{CapabilitySet, capabilities};

/// The first of the user ids. Neither distributions nor systemd assign these ids.
const FIRST: u32 = 60_706;
const COUNT: u32 = 478;

/// The assignment of users to jobs.
pub(super) struct Identities {
    next: AtomicU32,
}

/// A user that is assigned to a job.
pub struct Identity {
    /// The user and group number.
    pub id: u32,
    /// Reserves the user on this machine while it is held.
    _held: Option<UnixListener>,
}

impl Identities {
    /// Returns the users if this process is root, can change users, and has those users in its user namespace
    /// (user_namespaces(7)).
    pub(super) fn available() -> Option<Self> {
        let is_root = rustix::process::geteuid().is_root();
        let has_all = |map| {
            let ranges = ranges(map);
            ranges.iter().any(|range| {
                range.inside <= FIRST && FIRST + COUNT <= range.inside.saturating_add(range.count)
            })
        };
        let may = is_root && may_change_users() && has_all("uid_map") && has_all("gid_map");
        may.then(|| Self {
            next: AtomicU32::new(0),
        })
    }

    /// Returns a user. Jobs of this worker share a user only when all are taken; namespaces isolate them even then.
    pub(super) fn take(&self) -> Identity {
        Identity {
            id: FIRST + self.next.fetch_add(1, Ordering::Relaxed) % COUNT,
            _held: None,
        }
    }

    /// Returns a user that no other job on this machine has, also of other workers. Returns `None` if all are taken.
    pub(super) fn take_alone(&self) -> Option<Identity> {
        (FIRST..FIRST + COUNT).find_map(|id| {
            // An abstract socket name exists outside of the file system and is released with its holder.
            let name = SocketAddr::from_abstract_name(format!("skillet-user-{id}")).ok()?;
            let held = UnixListener::bind_addr(&name).ok()?;
            Some(Identity {
                id,
                _held: Some(held),
            })
        })
    }
}

/// Returns whether this process has the capabilities to change users. Root in a container can lack them.
fn may_change_users() -> bool {
    let needed = CapabilitySet::CHOWN | CapabilitySet::SETGID | CapabilitySet::SETUID;
    capabilities(None).is_ok_and(|own| own.effective.contains(needed))
}

/// Returns whether this process is root for the kernel, and not only in its user namespace.
pub(super) fn is_host_root() -> bool {
    let mut ranges = ranges("uid_map").into_iter();
    rustix::process::geteuid().is_root()
        && ranges.any(|range| range.inside == 0 && range.outside == 0)
}

struct IdRange {
    inside: u32,
    outside: u32,
    count: u32,
}

fn ranges(map: &str) -> Vec<IdRange> {
    let text = std::fs::read_to_string(format!("/proc/self/{map}")).unwrap_or_default();
    let parse = |line: &str| {
        let mut numbers = line.split_whitespace().map(str::parse);
        Some(IdRange {
            inside: numbers.next()?.ok()?,
            outside: numbers.next()?.ok()?,
            count: numbers.next()?.ok()?,
        })
    };
    text.lines().filter_map(parse).collect()
}
