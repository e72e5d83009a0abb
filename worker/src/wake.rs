//! What the database tells a worker at once. All of it is a hint: the poll finds the same later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sqlx::postgres::PgNotification;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use shared::db::log::Lease;
use shared::db::run::HeldRun;
use shared::db::{CANCEL_CHANNEL, Listener, Pool, WORK_CHANNEL};
use shared::id::JobId;

/// The pause before a lost connection is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// The jobs that run here, so that they can be told by id what has changed.
#[derive(Clone, Default)]
pub(crate) struct Running {
    /// By job, with the lease: an attempt that is just over may still be here when the next has begun.
    jobs: Arc<Mutex<HashMap<JobId, (Lease, Ears)>>>,
}

/// How a job hears what comes from outside.
#[derive(Default)]
pub(crate) struct Ears {
    pub(crate) cancel: CancellationToken,
    pub(crate) has_tenant_budget: Arc<AtomicBool>,
}

impl Running {
    /// Makes an attempt known; it is forgotten when the guard goes.
    pub(crate) fn enter(&self, lease: Lease, ears: Ears) -> RunningGuard {
        self.lock().insert(lease.job, (lease, ears));
        RunningGuard {
            running: self.clone(),
            lease,
        }
    }

    /// Whether the job runs here under that lease.
    pub(crate) fn knows(&self, lease: Lease) -> bool {
        let jobs = self.lock();
        jobs.get(&lease.job)
            .is_some_and(|(known, _)| *known == lease)
    }

    /// Cancels the job if it runs here.
    pub(crate) fn cancel(&self, job: JobId) {
        if let Some((_, ears)) = self.lock().get(&job) {
            ears.cancel.cancel();
        }
    }

    /// Tells the job what the database says of it.
    pub(crate) fn tell(&self, run: &HeldRun) {
        // What the notification said, in case that nobody heard it.
        if run.cancel_requested {
            self.cancel(run.lease.job);
        }
        if let Some((_, ears)) = self.lock().get(&run.lease.job) {
            let has_budget = run.has_tenant_budget;
            ears.has_tenant_budget.store(has_budget, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<JobId, (Lease, Ears)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the attempt when dropped.
pub(crate) struct RunningGuard {
    running: Running,
    lease: Lease,
}

impl Drop for RunningGuard {
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

/// Listens until it is dropped: wakes for new work, cancels the jobs that are named.
pub(crate) async fn listen(pool: Pool, work: Arc<Notify>, running: Running) {
    loop {
        if let Err(error) = listen_once(&pool, &work, &running).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "not listening, polling meanwhile"
            );
        }
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
}

async fn listen_once(pool: &Pool, work: &Notify, running: &Running) -> sqlx::Result<()> {
    let mut listener = Listener::open(pool, &[WORK_CHANNEL, CANCEL_CHANNEL]).await?;
    // What was said before we listened, nobody heard.
    work.notify_one();
    while let Some(notification) = listener.next().await? {
        hear(&notification, work, running);
    }
    Ok(())
}

fn hear(notification: &PgNotification, work: &Notify, running: &Running) {
    if notification.channel() == WORK_CHANNEL {
        work.notify_one();
    } else if let Ok(job) = Uuid::try_parse(notification.payload()) {
        running.cancel(JobId(job));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attempt_that_is_over_does_not_take_the_next_one_of_its_job_along() {
        let running = Running::default();
        let job = JobId::new();
        let lease = |number| Lease { job, number };
        let ears = || Ears {
            cancel: CancellationToken::new(),
            has_tenant_budget: Arc::default(),
        };
        let first = running.enter(lease(1), ears());
        let second = running.enter(lease(3), ears());
        assert!(!running.knows(lease(1)));
        drop(first);
        assert!(running.knows(lease(3)));
        drop(second);
        assert!(!running.knows(lease(3)));
    }
}
