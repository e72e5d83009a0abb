//! The heartbeat of a worker, on its own thread, so that a busy runtime is not mistaken for a dead worker.

use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

use shared::db::{self, DedicatedConnection};
use shared::id::WorkerId;

/// The number of renewal intervals within the maximum silence of a worker. A worker that cannot renew ends its own
/// work when one interval is left, before others may take its jobs.
const PARTS: u32 = 5;

/// The thread that renews a worker. Dropping the heartbeat tells the thread to end.
pub(crate) struct Heartbeat {
    stop: DropGuard,
    ended: oneshot::Receiver<()>,
}

impl Heartbeat {
    /// Starts to renew the worker. Cancels `dead` when other workers may have taken over.
    pub(crate) fn start(
        db: DedicatedConnection,
        worker: WorkerId,
        silence: Duration,
        dead: CancellationToken,
    ) -> anyhow::Result<Self> {
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let (end, ended) = oneshot::channel();
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        thread::Builder::new()
            .name("heartbeat".to_owned())
            .spawn(move || {
                runtime
                    .block_on(stopped.run_until_cancelled(renew_while_alive(db, worker, silence)));
                dead.cancel();
                // Fails if the heartbeat was dropped and not stopped.
                let _ = end.send(());
            })?;
        Ok(Self {
            stop: stop.drop_guard(),
            ended,
        })
    }

    /// Ends the thread and waits for its end. A renewal in progress is dropped.
    pub(crate) async fn stop(self) {
        let Self { stop, ended } = self;
        drop(stop);
        // An error means that the thread panicked, so it has ended too.
        let _ = ended.await;
    }
}

async fn renew_while_alive(mut db: DedicatedConnection, worker: WorkerId, silence: Duration) {
    let interval = silence / PARTS;
    let surrender = silence - interval;
    let mut renewed_at = Instant::now();
    while renewed_at.elapsed() < surrender {
        let begun_at = Instant::now();
        let left = surrender.saturating_sub(renewed_at.elapsed());
        match timeout(interval.min(left), renew(&mut db, worker)).await {
            Ok(Ok(true)) => renewed_at = begun_at,
            Ok(Ok(false)) => {
                tracing::warn!(%worker, "another worker declared this worker dead");
                return;
            }
            Ok(Err(error)) => {
                tracing::warn!(error = &error as &dyn std::error::Error, "cannot renew");
                db.reset();
            }
            Err(_) => db.reset(),
        }
        let left = surrender.saturating_sub(renewed_at.elapsed());
        sleep(interval.saturating_sub(begun_at.elapsed()).min(left)).await;
    }
    tracing::warn!(%worker, "could not renew for {surrender:?}: stopping all running jobs");
}

async fn renew(db: &mut DedicatedConnection, worker: WorkerId) -> db::Result<bool> {
    db::worker::renew(db.get().await?, worker).await
}
