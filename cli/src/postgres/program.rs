//! Running a program with a time limit.

use std::fs::File;
use std::io;
use std::process::{Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

/// The interval of the check whether a program has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Runs the command with all its output going to `log`. Kills it at the limit.
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
