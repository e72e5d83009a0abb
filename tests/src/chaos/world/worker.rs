//! A worker process.

use std::path::Path;

use rustix::process::Signal;

use crate::process::Process;

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
