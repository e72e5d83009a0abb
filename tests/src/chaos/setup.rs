//! The program under test, and what this machine has for its runs.

use std::path::PathBuf;
use std::process::Command;

use super::clock::WrongClock;
use crate::{pgbouncer, replication};

/// How the parts of a service are started.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The program, which is Skillet's whatever it is called.
    pub program: PathBuf,
    /// Seconds for which a worker may be silent; `None` for the default.
    pub silence: Option<u16>,
    /// What makes a host's clock wrong; `None` if all clocks are right.
    pub wrong_clock: Option<WrongClock>,
    /// A Python that can run the S3 server of a bucket.
    pub s3_python: Option<PathBuf>,
    /// Whether PgBouncer is installed.
    pub has_pooler: bool,
    /// Whether the programs that copy a database server are installed.
    pub has_standby: bool,
}

impl Setup {
    /// That program, with all that this machine has for it.
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
