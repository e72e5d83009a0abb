//! Notifications from the database: new work and cancelled jobs. All of them are hints, because
//! polling finds the same later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use shared::db::log::Lease;
use shared::db::run::HeldRun;
use shared::db::{
    CANCEL_CHANNEL, Notification, NotificationReceiver, ReceivedNotification, WORK_CHANNEL,
};
use shared::id::JobId;

/// The jobs that run on this worker, by id.
#[derive(Clone, Default)]
pub(crate) struct RunningJobs {
    /// By job, with the lease. An attempt that has just ended may still be listed when the next one has started.
    jobs: Arc<Mutex<HashMap<JobId, (Lease, JobSignals)>>>,
}

/// The signals of one running job.
#[derive(Default)]
pub(crate) struct JobSignals {
    pub(crate) cancel: CancellationToken,
    pub(crate) has_tenant_budget: Arc<AtomicBool>,
}

impl RunningJobs {
    /// Registers an attempt until the guard is dropped.
    pub(crate) fn enter(&self, lease: Lease, job_signals: JobSignals) -> RunningJobGuard {
        self.lock().insert(lease.job, (lease, job_signals));
        RunningJobGuard {
            running: self.clone(),
            lease,
        }
    }

    /// Whether the job runs on this worker under the lease.
    pub(crate) fn knows(&self, lease: Lease) -> bool {
        let jobs = self.lock();
        jobs.get(&lease.job)
            .is_some_and(|(known, _)| *known == lease)
    }

    /// Cancels the job if it runs on this worker.
    pub(crate) fn cancel(&self, job: JobId) {
        if let Some((_, job_signals)) = self.lock().get(&job) {
            job_signals.cancel.cancel();
        }
    }

    /// Updates the job's signals from its row.
    pub(crate) fn update(&self, run: &HeldRun) {
        // The notification may have been lost.
        if run.cancel_requested {
            self.cancel(run.lease.job);
        }
        if let Some((_, job_signals)) = self.lock().get(&run.lease.job) {
            let has_budget = run.has_tenant_budget;
            job_signals
                .has_tenant_budget
                .store(has_budget, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, (Lease, JobSignals)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Removes the attempt when dropped.
pub(crate) struct RunningJobGuard {
    running: RunningJobs,
    lease: Lease,
}

impl Drop for RunningJobGuard {
    fn drop(&mut self) {
        let mut jobs = self.running.lock();
        if jobs
            .get(&self.lease.job)
            .is_some_and(|(lease, _)| *lease == self.lease)
        {
            jobs.remove(&self.lease.job);
        }
    }
}

/// Wakes the claim loop for new work, and cancels jobs, until it is dropped.
pub(crate) async fn listen(
    mut notifications: NotificationReceiver,
    work: Arc<Notify>,
    running: RunningJobs,
) {
    loop {
        match notifications.next().await {
            ReceivedNotification::Gap => work.notify_one(),
            ReceivedNotification::Notification(notification) => {
                handle(&notification, &work, &running);
            }
        }
    }
}

fn handle(notification: &Notification, work: &Notify, running: &RunningJobs) {
    match notification.channel() {
        WORK_CHANNEL => work.notify_one(),
        CANCEL_CHANNEL => {
            if let Ok(job) = Uuid::try_parse(notification.payload()) {
                running.cancel(JobId(job));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_is_over_does_not_take_the_next_one_of_its_job_along() {
        let running = RunningJobs::default();
        let job = JobId::new();
        let lease = |number| Lease { job, number };
        let first = running.enter(lease(1), JobSignals::default());
        let second = running.enter(lease(3), JobSignals::default());
        assert!(!running.knows(lease(1)));
        drop(first);
        assert!(running.knows(lease(3)));
        drop(second);
        assert!(!running.knows(lease(3)));
    }
}
