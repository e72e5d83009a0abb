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

/// Waits for SIGTERM.
pub(crate) async fn terminated() {
    match signal(SignalKind::terminate()) {
        Ok(mut terminate) => drop(terminate.recv().await),
        // Then it ends the process as it does by default.
        Err(_) => std::future::pending().await,
    }
}

/// Waits for SIGINT or SIGTERM.
pub(crate) async fn told() {
    tokio::select! {
        Ok(()) = tokio::signal::ctrl_c() => {}
        () = terminated() => {}
    }
}
