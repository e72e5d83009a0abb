//! A program that runs in the job's sandbox beside the job's commands.

use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

/// A program that runs. It dies when this is dropped.
pub(super) struct SideProgram {
    /// How it ended, once it has.
    pub(super) exit_report: watch::Receiver<Option<String>>,
    pub(super) _supervising: AbortOnDropHandle<()>,
}
