//! The number of processes of this user, as the kernel counts them for `RLIMIT_NPROC` (getrlimit(2)). This includes
//! processes of other containers with the same user, which /proc does not show. The kernel does not report the number,
//! but it refuses a process beyond a limit.

use std::io;

use nix::sys::wait::waitpid;
use nix::unistd::ForkResult;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// The most processes and threads that a kernel can have.
const MAX: u64 = 4 * 1024 * 1024;

/// Counts the processes and threads of this user, including this process. Returns `None` if the user can start none at
/// all, or any number.
pub(super) fn count() -> io::Result<Option<u64>> {
    let before = getrlimit(Resource::Nproc);
    let most = before.maximum.unwrap_or(MAX).min(MAX);
    let has_room = |limit: u64| {
        let limit = Rlimit {
            current: Some(limit),
            maximum: before.maximum,
        };
        setrlimit(Resource::Nproc, limit)?;
        can_fork()
    };
    let counted = search(most, has_room);
    setrlimit(Resource::Nproc, before)?;
    counted
}

/// Returns the largest limit without room for another process. Returns `None` if all limits up to `most` have room, or
/// none has.
fn search(most: u64, has_room: impl Fn(u64) -> io::Result<bool>) -> io::Result<Option<u64>> {
    // The limit `below` leaves no room, the limit `above` does.
    let (mut below, mut above) = (0, 1);
    while !has_room(above)? {
        if above >= most {
            return Ok(None);
        }
        (below, above) = (above, (above * 2).min(most));
    }
    while above - below > 1 {
        let middle = below.midpoint(above);
        if has_room(middle)? {
            above = middle;
        } else {
            below = middle;
        }
    }
    // This process always counts. If a limit of one still has room, the limit does not apply.
    Ok((below > 0).then_some(below))
}

fn can_fork() -> io::Result<bool> {
    // SAFETY: this process has one thread, and the child does nothing but end.
    #[expect(unsafe_code)]
    match unsafe { nix::unistd::fork() } {
        Ok(ForkResult::Child) => super::exit(0),
        Ok(ForkResult::Parent { child }) => {
            waitpid(child, None)?;
            Ok(true)
        }
        Err(nix::errno::Errno::EAGAIN) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_count_is_the_largest_limit_that_leaves_no_room() {
        for count in [1, 2, 3, 100, 255, 256, 4095] {
            let found = search(5000, |limit| Ok(limit > count)).unwrap();
            assert_eq!(found, Some(count));
        }
        assert_eq!(search(5000, |_| Ok(false)).unwrap(), None);
        assert_eq!(search(5000, |_| Ok(true)).unwrap(), None);
    }
}
