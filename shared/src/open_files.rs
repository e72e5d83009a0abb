//! The limit on open files, sockets and pipes of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit to the maximum that the system permits, and returns the limit. The default limit of a shell is
/// low.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised,
        // The real maximum on macOS is lower than the reported one.
        Err(_) => limit,
    };
    limit.current.unwrap_or(u64::MAX)
}
