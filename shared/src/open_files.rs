//! How many files, sockets and pipes this process may have open.

use std::io;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the limit as far as it goes, and returns it. Shells start programs with a low one.
pub fn raise_limit() -> io::Result<u64> {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            ..limit
        },
    )?;
    Ok(limit.maximum.unwrap_or(u64::MAX))
}
