//! Shutdown by signals: the first stops in order, the second at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use worker::Shutdown;

/// Turns SIGINT and SIGTERM into a shutdown, for as long as the returned task runs.
pub(crate) fn on_signals() -> anyhow::Result<(Shutdown, impl Future<Output = ()>)> {
    let mut signals = ShutdownSignals::listen()?;
    let shutdown = Shutdown::default();
    let told = shutdown.clone();
    let listening = async move {
        for step in [&told.drain, &told.leave] {
            signals.any().await;
            step.cancel();
        }
    };
    Ok((shutdown, listening))
}

/// Receives SIGINT and SIGTERM. No signal after `listen` is missed.
pub(crate) struct ShutdownSignals {
    /// Ctrl-C.
    pub(crate) interrupt: Signal,
    /// What a supervisor sends.
    pub(crate) terminate: Signal,
}

impl ShutdownSignals {
    /// Listens; the signals do not end the process any more.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
