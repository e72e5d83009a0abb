//! Telling workers about new jobs, from one place: a notification in each inserting transaction would
//! make their commits wait for one another.

use std::sync::Arc;
use std::time::Duration;

use shared::db::{self, Pool, Steady};
use tokio::sync::Notify;

/// The pause after the database failed; workers poll meanwhile.
const RETRY_PAUSE: Duration = Duration::from_millis(500);

/// Tells workers that there is something to claim.
#[derive(Clone, Default)]
pub(crate) struct Doorbell {
    rung: Arc<Notify>,
}

impl Doorbell {
    /// Rings, once the job is committed. Rings that come while one is on its way become one.
    pub(crate) fn ring(&self) {
        self.rung.notify_one();
    }

    /// Passes the rings on until it is dropped.
    pub(crate) async fn run(self, pool: Pool) {
        let mut db = Steady::of(&pool);
        loop {
            self.rung.notified().await;
            if let Err(error) = notify(&mut db).await {
                db.forget();
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot notify workers"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
            }
        }
    }
}

async fn notify(db: &mut Steady) -> sqlx::Result<()> {
    db::run::notify_work(db.get().await?).await
}
