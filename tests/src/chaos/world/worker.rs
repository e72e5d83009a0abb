//! A worker process, and the supervisor of all of them.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::ensure;
use rustix::process::Signal;
use shared::db;
use tokio::time::sleep;

use super::World;
use crate::process::Process;

/// How long workers may take to register.
const READY_PATIENCE: Duration = Duration::from_secs(60);
const READY_PAUSE: Duration = Duration::from_millis(10);

/// A worker, maybe stopped.
pub(super) struct Worker {
    pub(super) process: Process,
    is_stopped: bool,
}

impl Worker {
    /// Starts one with a data directory of its own, and its log beside that.
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

    /// Stops it; says that it was running.
    pub(super) fn stop(&mut self) -> bool {
        self.process.signal(Signal::STOP);
        !std::mem::replace(&mut self.is_stopped, true)
    }

    /// Lets it go on; says whether it was stopped.
    pub(super) fn go_on(&mut self) -> bool {
        let was_stopped = std::mem::take(&mut self.is_stopped);
        if was_stopped {
            self.process.signal(Signal::CONT);
        }
        was_stopped
    }

    /// Tells it to leave.
    pub(super) fn leave(mut self) -> Self {
        self.go_on();
        self.process.signal(Signal::TERM);
        self
    }
}

impl World {
    /// Waits until so many workers have registered and live.
    pub async fn until_workers(&mut self, count: usize) -> anyhow::Result<()> {
        let begun_at = Instant::now();
        while db::worker::list(&self.pool).await?.len() < count {
            self.restart_ended_workers().await?;
            ensure!(
                begun_at.elapsed() < READY_PATIENCE,
                "the workers did not start:\n{}",
                self.log_lines("worker", &["WARN", "ERROR"])
            );
            sleep(READY_PAUSE).await;
        }
        Ok(())
    }

    /// Starts workers again that ended by themselves, which none should that has registered. One that does not find the
    /// database at its start leaves that to its supervisor.
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
