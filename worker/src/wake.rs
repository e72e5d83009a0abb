//! What the database tells a worker at once. All of it is a hint: the poll finds the same later.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::PgPool;
use sqlx::postgres::{PgListener, PgNotification};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use shared::db::run::HeldRun;
use shared::db::{CANCEL_CHANNEL, WORK_CHANNEL};
use shared::id::JobId;

/// The pause before a lost connection is tried again.
const RECONNECT_PAUSE: Duration = Duration::from_millis(500);

/// The jobs that run here, so that they can be told by id what has changed.
#[derive(Clone, Default)]
pub(crate) struct Running {
    jobs: Arc<Mutex<HashMap<JobId, Ears>>>,
}

/// How a job hears what comes from outside.
#[derive(Default)]
pub(crate) struct Ears {
    pub(crate) cancel: CancellationToken,
    pub(crate) has_tenant_budget: Arc<AtomicBool>,
}

impl Running {
    /// Makes the job known; it is forgotten when the guard goes.
    pub(crate) fn enter(&self, job: JobId, ears: Ears) -> RunningGuard {
        self.lock().insert(job, ears);
        RunningGuard {
            running: self.clone(),
            job,
        }
    }

    /// Whether the job runs here.
    pub(crate) fn knows(&self, job: JobId) -> bool {
        self.lock().contains_key(&job)
    }

    /// Cancels the job if it runs here.
    pub(crate) fn cancel(&self, job: JobId) {
        if let Some(ears) = self.lock().get(&job) {
            ears.cancel.cancel();
        }
    }

    /// Tells the job what the database says of it.
    pub(crate) fn tell(&self, run: &HeldRun) {
        // What the notification said, in case that nobody heard it.
        if run.cancel_requested {
            self.cancel(run.job);
        }
        if let Some(ears) = self.lock().get(&run.job) {
            let has_budget = run.has_tenant_budget;
            ears.has_tenant_budget.store(has_budget, Ordering::Relaxed);
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<JobId, Ears>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Forgets the job when dropped.
pub(crate) struct RunningGuard {
    running: Running,
    job: JobId,
}

impl Drop for RunningGuard {
    fn drop(&mut self) {
        self.running.lock().remove(&self.job);
    }
}

/// Listens until it is dropped: wakes for new work, cancels the jobs that are named.
pub(crate) async fn listen(pool: PgPool, work: Arc<Notify>, running: Running) {
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

async fn listen_once(pool: &PgPool, work: &Notify, running: &Running) -> sqlx::Result<()> {
    let mut listener = PgListener::connect_with(pool).await?;
    listener.listen_all([WORK_CHANNEL, CANCEL_CHANNEL]).await?;
    loop {
        // What was said before we listened, or while the connection was away, nobody heard.
        work.notify_one();
        while let Some(notification) = listener.try_recv().await? {
            hear(&notification, work, running);
        }
    }
}

fn hear(notification: &PgNotification, work: &Notify, running: &Running) {
    if notification.channel() == WORK_CHANNEL {
        work.notify_one();
    } else if let Ok(job) = notification.payload().parse() {
        running.cancel(job);
    }
}
