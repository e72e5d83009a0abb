//! What of a job is under way in sandboxes.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::task::TaskTracker;

use super::running::Idle;
use super::spec::{DiskCount, Setup};

/// The sandboxes of one job: those whose command runs, and one that is ready for the next.
#[derive(Clone, Default)]
pub(crate) struct Underway {
    /// Knows of each until all of it is gone.
    pub(super) tracker: TaskTracker,
    kept: Arc<Mutex<Option<Kept>>>,
    disk: Arc<Mutex<Option<DiskCount>>>,
}

/// A sandbox between two commands.
struct Kept {
    setup: Setup,
    idle: Idle,
    _place: OwnedSemaphorePermit,
}

/// Where a sandbox is kept after a command that left it as new.
pub(super) struct Home {
    pub(super) underway: Underway,
    pub(super) setup: Setup,
    /// Sandboxes of all jobs that may be kept.
    pub(super) places: Arc<Semaphore>,
}

impl Underway {
    /// The sandbox that is kept, if it is such a one.
    pub(super) fn take(&self, setup: &Setup) -> Option<Idle> {
        let kept = self.kept().take()?;
        (kept.setup == *setup).then_some(kept.idle)
    }

    /// Waits until nothing is left. Nothing may begin from now on.
    pub(crate) async fn quiet(&self) {
        // In this order: nothing is kept once it is closed.
        self.tracker.close();
        drop(self.kept().take());
        self.tracker.wait().await;
    }

    /// What is known of the job's disk.
    pub(super) fn disk(&self) -> Option<DiskCount> {
        *self.locked_disk()
    }

    fn locked_disk(&self) -> MutexGuard<'_, Option<DiskCount>> {
        self.disk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn kept(&self) -> MutexGuard<'_, Option<Kept>> {
        // Nothing that could panic happens under the lock.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Home {
    /// Remembers what a command told of the job's disk.
    pub(super) fn note_disk(&self, disk: DiskCount) {
        *self.underway.locked_disk() = Some(disk);
    }

    /// Keeps it in the place of whichever was kept before, or lets it end if there is no place.
    pub(super) fn keep(self, idle: Idle) {
        let Ok(place) = self.places.try_acquire_owned() else {
            return;
        };
        let mut kept = self.underway.kept();
        if !self.underway.tracker.is_closed() {
            *kept = Some(Kept {
                setup: self.setup,
                idle,
                _place: place,
            });
        }
    }
}
