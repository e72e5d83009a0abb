//! What of a job is under way in sandboxes.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::OwnedSemaphorePermit;
use tokio_util::task::TaskTracker;

use super::running::Idle;
use super::spec::Setup;

/// The sandboxes of one job: those whose command runs, and one that is ready for the next.
#[derive(Default)]
pub(crate) struct Underway {
    /// Knows of each until all of it is gone.
    pub(super) tracker: TaskTracker,
    spare: Mutex<Option<Spare>>,
    has_begun: AtomicBool,
}

/// A sandbox that was made before there was a command for it.
pub(super) struct Spare {
    pub(super) setup: Setup,
    pub(super) idle: Idle,
    pub(super) _place: OwnedSemaphorePermit,
}

impl Underway {
    /// The sandbox that is ready, if it is such a one.
    pub(super) fn take(&self, setup: &Setup) -> Option<Idle> {
        let spare = self.slot().take()?;
        (spare.setup == *setup).then_some(spare.idle)
    }

    /// Keeps a sandbox for the next command.
    pub(super) fn put(&self, spare: Spare) {
        *self.slot() = Some(spare);
    }

    /// Whether there was a command before. Where there were two, there will be more.
    pub(super) fn is_second(&self) -> bool {
        self.has_begun.swap(true, Ordering::Relaxed)
    }

    /// Waits until nothing is left. Nothing may begin from now on.
    pub(crate) async fn quiet(&self) {
        drop(self.slot().take());
        self.tracker.close();
        self.tracker.wait().await;
    }

    fn slot(&self) -> std::sync::MutexGuard<'_, Option<Spare>> {
        // Nothing that could panic happens under the lock.
        self.spare
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
