//! The sandboxes of one job: those that run a command, and one that is ready for the next command.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use crate::idle::IdleSandbox;
use crate::spec::{DiskCount, Setup};

/// The sandboxes of one job.
#[derive(Clone, Default)]
pub(crate) struct JobSandboxes {
    /// Tracks each sandbox until all of it is gone.
    pub(super) tracker: TaskTracker,
    kept: Arc<Mutex<Option<Reusable>>>,
    disk: Arc<Mutex<Option<DiskCount>>>,
}

/// A sandbox between two commands.
struct Reusable {
    setup: Setup,
    idle: IdleSandbox,
    _permit: OwnedSemaphorePermit,
}

/// The slot in which a sandbox is kept after a command that left it unchanged.
pub(super) struct ReuseSlot {
    pub(super) sandboxes: JobSandboxes,
    pub(super) setup: Setup,
    /// Permits for idle sandboxes of all jobs.
    pub(super) permits: Arc<Semaphore>,
}

impl JobSandboxes {
    /// Takes the idle sandbox if it has this setup.
    pub(super) fn take(&self, setup: &Setup) -> Option<IdleSandbox> {
        let kept = self.kept().take()?;
        (kept.setup == *setup).then_some(kept.idle)
    }

    /// Waits until no sandbox is left. Nothing may be started from now on.
    pub(crate) async fn quiesce(&self) {
        // In this order, because nothing is kept after the tracker is closed.
        self.tracker.close();
        drop(self.kept().take());
        self.tracker.wait().await;
    }

    /// The last known disk usage of the job.
    pub(super) fn disk(&self) -> Option<DiskCount> {
        *self.locked_disk()
    }

    fn locked_disk(&self) -> MutexGuard<'_, Option<DiskCount>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Option<Reusable>> {
        // Nothing that could panic happens under the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReuseSlot {
    /// Records the disk usage that a command reported.
    pub(super) fn note_disk(&self, disk: DiskCount) {
        *self.sandboxes.locked_disk() = Some(disk);
    }

    /// Keeps the sandbox and drops the one kept before. Without a permit the sandbox ends.
    pub(super) fn keep(self, idle: IdleSandbox) {
        let Ok(permit) = self.permits.try_acquire_owned() else {
            return;
        };
        let mut kept = self.sandboxes.kept();
        if !self.sandboxes.tracker.is_closed() {
            *kept = Some(Reusable {
                setup: self.setup,
                idle,
                _permit: permit,
            });
        }
    }
}
