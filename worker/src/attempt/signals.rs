//! External signals to a running attempt.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use tokio_util::sync::CancellationToken;

/// External signals to a running attempt.
#[derive(Clone)]
pub(crate) struct AttemptSignals {
    /// The job was cancelled.
    pub(crate) cancel: CancellationToken,
    /// Another worker has the lease, or may have it.
    pub(crate) lost: CancellationToken,
    /// The worker is draining. The attempt hands the job over at the next boundary.
    pub(crate) drain: CancellationToken,
    /// The worker stops now.
    pub(crate) leave: CancellationToken,
    /// Whether the tenant has a budget.
    pub(crate) has_tenant_budget: Arc<AtomicBool>,
}

/// The reason why an attempt was interrupted.
pub(super) enum Interrupt {
    Cancelled,
    Lost,
    Leaving,
}

impl AttemptSignals {
    /// Runs a future unless a signal interrupts it. An interrupted future is dropped, with everything that it started.
    pub(super) async fn watch<T>(&self, future: impl Future<Output = T>) -> Result<T, Interrupt> {
        tokio::select! {
            biased;
            () = self.lost.cancelled() => Err(Interrupt::Lost),
            () = self.cancel.cancelled() => Err(Interrupt::Cancelled),
            () = self.leave.cancelled() => Err(Interrupt::Leaving),
            value = future => Ok(value),
        }
    }
}
