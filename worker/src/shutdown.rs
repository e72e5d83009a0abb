//! The two steps of a worker's shutdown.

use tokio_util::sync::CancellationToken;

/// The two steps of a worker's shutdown.
#[derive(Clone, Default)]
pub struct Shutdown {
    /// Stop claiming, and hand jobs over at their next boundary.
    pub drain: CancellationToken,
    /// Hand jobs over immediately.
    pub leave: CancellationToken,
}
