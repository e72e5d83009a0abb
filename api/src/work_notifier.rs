//! Notifying workers about new jobs, from one task per process: a notification in each inserting transaction would
//! make their commits wait for one another.

use std::sync::Arc;
use std::time::Duration;

use shared::db::{self, DedicatedConnection, Pool};
use tokio::sync::Notify;

/// The pause after the database failed; workers poll meanwhile.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Tells workers that there is a job to claim.
#[derive(Clone, Default)]
pub(crate) struct WorkNotifier {
    requested: Arc<Notify>,
}

impl WorkNotifier {
    /// Requests a notification, after the job is committed. Requests during one that is being sent become one.
    pub(crate) fn notify(&self) {
        self.requested.notify_one();
    }

    /// Sends the notifications until it is dropped.
    pub(crate) async fn run(self, pool: Pool) {
        let mut db = DedicatedConnection::of(&pool);
        loop {
            self.requested.notified().await;
            if let Err(error) = send(&mut db).await {
                db.reset();
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot notify workers"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

async fn send(db: &mut DedicatedConnection) -> db::Result<()> {
    db::run::notify_work(db.get().await?).await
}
