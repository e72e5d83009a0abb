//! The asynchronous runtime of a command: one thread for a client, several for a service.

use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::Context;
use tokio::runtime::{Builder, Runtime};

/// The number of threads that a service needs at least. With fewer it does not start.
const SERVICE_THREADS: usize = 16;

/// The runtime of a command that only talks to a service. It uses only the current thread, so the command works even if
/// no other thread can be started.
pub(crate) fn for_client() -> anyhow::Result<Runtime> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .context("cannot start")
}

/// The runtime of a service.
pub(crate) fn for_service() -> anyhow::Result<Runtime> {
    // tokio panics if it cannot start a thread.
    check_threads().with_context(|| {
        format!(
            "a service needs {SERVICE_THREADS} threads, but the system refuses to start them: raise the process limit of \
             this user (`ulimit -u`) or stop other programs"
        )
    })?;
    Runtime::new().context("cannot start")
}

/// Starts that many threads at once, then ends them.
fn check_threads() -> std::io::Result<()> {
    let gate = Mutex::new(());
    thread::scope(|scope| {
        let closed = gate.lock().unwrap_or_else(PoisonError::into_inner);
        let started = (0..SERVICE_THREADS).try_for_each(|_| {
            let wait = || drop(gate.lock());
            thread::Builder::new().spawn_scoped(scope, wait).map(drop)
        });
        drop(closed);
        started
    })
}
