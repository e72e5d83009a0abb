//! Signals: the first asks to end in order, the second at once.

use tokio::signal::unix::{SignalKind, signal};
use worker::Shutdown;

/// Turns SIGINT and SIGTERM into a shutdown, for as long as the returned task runs.
pub(crate) fn on_signals() -> anyhow::Result<(Shutdown, impl Future<Output = ()>)> {
    let (mut interrupt, mut terminate) = (
        signal(SignalKind::interrupt())?,
        signal(SignalKind::terminate())?,
    );
    let shutdown = Shutdown::default();
    let told = shutdown.clone();
    let listening = async move {
        for step in [&told.drain, &told.leave] {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            step.cancel();
        }
    };
    Ok((shutdown, listening))
}
