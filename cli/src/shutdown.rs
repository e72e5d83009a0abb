//! Shutdown by signals: the first one stops in order, the second one at once.

use tokio::signal::unix::{Signal, SignalKind, signal};
use worker::Shutdown;

/// Turns SIGINT and SIGTERM into a shutdown, as long as the returned future runs.
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
    /// SIGINT, from Ctrl-C.
    pub(crate) interrupt: Signal,
    /// SIGTERM, from a supervisor.
    pub(crate) terminate: Signal,
}

impl ShutdownSignals {
    /// Starts to listen. The signals no longer end the process.
    pub(crate) fn listen() -> std::io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Waits for either signal.
    pub(crate) async fn any(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
