//! The limit on open files, sockets and pipes of this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as the system lets us, and returns it. Shells start programs with a low one.
pub fn raise_limit() -> u64 {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => raised,
        // macOS has a lower limit than it says.
        Err(_) => limit,
    };
    limit.current.unwrap_or(u64::MAX)
}
