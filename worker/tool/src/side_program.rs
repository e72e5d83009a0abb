//! A program that runs in the job's sandbox beside the job's commands.

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// A running program. Dropping this ends the program.
pub(super) struct SideProgram {
    /// The exit report, after the program has ended.
    pub(super) exit_report: watch::Receiver<Option<String>>,
    pub(super) _supervising: AbortOnDropHandle<()>,
}
