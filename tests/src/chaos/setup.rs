//! The program under test, and the optional tools on this machine.

use std::path::PathBuf;
use std::process::Command;

use super::clock::WrongClock;
use crate::{pgbouncer, replication};

/// The setup of a service.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The Skillet program, which may have any file name.
    pub program: PathBuf,
    /// The worker silence in seconds; `None` for the default.
    pub silence: Option<u16>,
    /// The wrong clock for faults; `None` if all clocks are right.
    pub wrong_clock: Option<WrongClock>,
    /// A Python that can run the S3 server.
    pub s3_python: Option<PathBuf>,
    /// Whether PgBouncer is installed.
    pub has_pooler: bool,
    /// Whether the Postgres programs for replication are installed.
    pub has_standby: bool,
}

impl Setup {
    /// Detects the tools on this machine.
    pub fn of(program: PathBuf) -> Self {
        let python = Command::new("python3")
            .args(["-c", "import moto.server"])
            .output();
        let has_s3 = python.is_ok_and(|output| output.status.success());
        Self {
            program,
            silence: None,
            wrong_clock: WrongClock::find(),
            s3_python: has_s3.then(|| "python3".into()),
            has_pooler: pgbouncer::is_installed(),
            has_standby: replication::is_installed(),
        }
    }
}
