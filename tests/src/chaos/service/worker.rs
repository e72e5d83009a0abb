//! A worker process, and the supervision of all workers.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::process::Signal;
use shared::db;
use tokio::time::sleep;

use super::ChaosService;
use crate::process::Process;

/// The longest wait for workers to register.
const READY_TIMEOUT: Duration = Duration::from_secs(60);
const READY_PAUSE: Duration = Duration::from_millis(10);

/// A worker process, possibly stopped.
pub(super) struct Worker {
    pub(super) process: Process,
    is_stopped: bool,
}

impl Worker {
    /// Starts a worker with its own data directory. The log file is next to the directory.
    pub(super) fn start(
        program: &Path,
        mut environment: Vec<(String, String)>,
        home: &Path,
    ) -> Self {
        environment.push(("SKILLET_DATA_DIR".to_owned(), home.display().to_string()));
        let log = home.with_extension("log");
        Self {
            process: Process::start(program, &["worker"], &environment, &log),
            is_stopped: false,
        }
    }

    /// Stops the worker with SIGSTOP. Returns whether it was running.
    pub(super) fn stop(&mut self) -> bool {
        self.process.signal(Signal::STOP);
        !std::mem::replace(&mut self.is_stopped, true)
    }

    /// Resumes the worker with SIGCONT. Returns whether it was stopped.
    pub(super) fn go_on(&mut self) -> bool {
        let was_stopped = std::mem::take(&mut self.is_stopped);
        if was_stopped {
            self.process.signal(Signal::CONT);
        }
        was_stopped
    }

    /// Sends SIGTERM, so that the worker drains.
    pub(super) fn leave(mut self) -> Self {
        self.go_on();
        self.process.signal(Signal::TERM);
        self
    }
}

impl ChaosService {
    /// Waits until `count` workers are registered and alive.
    pub async fn until_workers(&mut self, count: usize) -> anyhow::Result<()> {
        let begun_at = Instant::now();
        while db::worker::list(&self.pool).await?.len() < count {
            self.restart_ended_workers().await?;
            ensure!(
                begun_at.elapsed() < READY_TIMEOUT,
                "the workers did not start:\n{}",
                self.log_lines("worker", &["WARN", "ERROR"])
            );
            sleep(READY_PAUSE).await;
        }
        Ok(())
    }

    /// Restarts workers that ended by themselves. That is a violation if the worker had registered. A worker that
    /// cannot reach the database at its start may exit, because its supervisor restarts it.
    pub(super) async fn restart_ended_workers(&mut self) -> anyhow::Result<()> {
        for place in 0..self.workers.len() {
            let worker = &mut self.workers[place];
            let Some(status) = worker.as_mut().and_then(|it| it.process.ended()) else {
                continue;
            };
            let process = worker.take().map(|it| it.process.id());
            if let Some(process) = process
                && self.has_registered(process).await?
            {
                let fault = format!("worker {place} ended by itself: {status}");
                self.faults.push(fault);
            }
            self.start_worker(place);
        }
        Ok(())
    }
}
