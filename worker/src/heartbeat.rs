//! Saying that the worker lives, from a thread of its own: a busy runtime is not a dead worker.

use std::thread;
use std::time::{Duration, Instant};

use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use shared::db::{self, Steady};
use shared::id::WorkerId;

/// Into how many parts the time for which a worker may be silent is divided. It renews after each, and one that
/// could not renew ends its own work when there is one part left: before others may take it.
const PARTS: u32 = 5;

/// The thread that renews. Dropping it ends the thread.
pub(crate) struct Heartbeat {
    stop: CancellationToken,
    thread: Option<thread::JoinHandle<()>>,
}

impl Heartbeat {
    /// Begins to renew the worker; cancels `dead` when others may have taken over.
    pub(crate) fn start(
        db: Steady,
        worker: WorkerId,
        silence: Duration,
        dead: CancellationToken,
    ) -> anyhow::Result<Self> {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let thread = thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || {
                runtime
                    .block_on(stopped.run_until_cancelled(renew_while_alive(db, worker, silence)));
                dead.cancel();
            })?;
        Ok(Self {
            stop,
            thread: Some(thread),
        })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // It sleeps or waits for one bounded try; a panic there has nothing left to break.
            let _ = thread.join();
        }
    }
}

async fn renew_while_alive(mut db: Steady, worker: WorkerId, silence: Duration) {
    let interval = silence / PARTS;
    let surrender = silence - interval;
    let mut renewed_at = Instant::now();
    while renewed_at.elapsed() < surrender {
        let begun_at = Instant::now();
        let left = surrender.saturating_sub(renewed_at.elapsed());
        match timeout(interval.min(left), renew(&mut db, worker)).await {
            Ok(Ok(true)) => renewed_at = begun_at,
            Ok(Ok(false)) => {
                tracing::warn!(%worker, "declared dead by others");
                return;
            }
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot renew");
                db.forget();
            }
            Err(_) => db.forget(),
        }
        let left = surrender.saturating_sub(renewed_at.elapsed());
        sleep(interval.saturating_sub(begun_at.elapsed()).min(left)).await;
    }
    tracing::warn!(%worker, "could not renew for {surrender:?}: ending the work in hand");
}

async fn renew(db: &mut Steady, worker: WorkerId) -> db::Result<bool> {
    db::worker::renew(db.get().await?, worker).await
}
