//! Processes of the program under test.

use std::path::Path;

pub(crate) use tests::process::Process;

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_skillet-under-test");

/// Starts the program with this environment only, and writes its log to a file.
pub(crate) fn start(arguments: &[&str], environment: &[(String, String)], log: &Path) -> Process {
    Process::start(PROGRAM.as_ref(), arguments, environment, log)
}
