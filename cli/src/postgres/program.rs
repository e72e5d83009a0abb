//! Running a program with a time limit.

use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// How late the end of a program may be noticed.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs the command with all its output going to `log`; at the limit it is killed.
pub(super) fn run(command: &mut Command, log: &File, limit: Duration) -> io::Result<ExitStatus> {
    let mut child = command
        .stdout(log.try_clone()?)
        .stderr(log.try_clone()?)
        .spawn()?;
    let deadline = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            return child.wait();
        }
        thread::sleep(POLL_INTERVAL);
    }
}
