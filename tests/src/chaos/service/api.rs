//! An API process that restarts at the same address.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

use anyhow::Context;
use tokio::task::spawn_blocking;

use crate::chaos::clock::{Leftovers, WrongClock};
use crate::process::Process;

/// An API, running or not.
pub(super) struct Api {
    url: String,
    process: Option<Process>,
    // Declared after the process, because the process creates them.
    leftovers: Option<Leftovers>,
    /// The wrong clock of the API's host, if any.
    wrong_clock: Option<WrongClock>,
    home: PathBuf,
}

impl Api {
    /// Creates an API that is not running, with the given data directory. The log file is next to the directory.
    pub(super) fn at(home: PathBuf) -> Self {
        Self {
            url: "http://127.0.0.1:0".to_owned(),
            process: None,
            leftovers: None,
            wrong_clock: None,
            home,
        }
    }

    /// Starts the API at its previous address or, the first time, on a free port. Returns whether it was down.
    pub(super) async fn start(
        &mut self,
        program: &Path,
        environment: &[(String, String)],
    ) -> anyhow::Result<bool> {
        if self.process.is_some() {
            return Ok(false);
        }
        let mut environment = environment.to_vec();
        let home = self.home.display().to_string();
        environment.push(("SKILLET_DATA_DIR".to_owned(), home));
        let wrong_clock = self.wrong_clock.as_ref();
        environment.extend(wrong_clock.into_iter().flat_map(WrongClock::environment));
        let address = self.url.trim_start_matches("http://");
        let arguments = ["api", "--listen", address];
        let log = self.home.with_extension("log");
        let mut process = Process::start(program, &arguments, &environment, &log);
        self.leftovers = wrong_clock.map(|_| Leftovers::of(process.id()));
        let listening = spawn_blocking(move || (process.first_line(), process));
        let (line, process) = listening.await?;
        let url = line.strip_prefix("listening on ");
        url.context("the API did not start")?
            .clone_into(&mut self.url);
        self.process = Some(process);
        Ok(true)
    }

    /// Kills the API if its clock must change, and returns whether it did. The next start sets the clock.
    pub(super) fn set_clock(&mut self, wrong_clock: Option<WrongClock>) -> bool {
        let is_other = wrong_clock.is_some() != self.wrong_clock.is_some();
        if is_other {
            self.kill();
            self.wrong_clock = wrong_clock;
        }
        is_other
    }

    /// Returns the URL of the API. It stays the same while the API is down.
    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Kills the API. Returns whether it was running.
    pub(super) fn kill(&mut self) -> bool {
        let was_there = self.process.take().is_some();
        self.leftovers = None;
        was_there
    }

    /// Returns the exit status if the API ended by itself.
    pub(super) fn ended(&mut self) -> Option<ExitStatus> {
        let ended = self.process.as_mut().and_then(Process::ended);
        if ended.is_some() {
            self.kill();
        }
        ended
    }
}
