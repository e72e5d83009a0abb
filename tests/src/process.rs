//! A process under test.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// A running process, killed when dropped.
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts the program with the given environment. Its standard error is appended to the log file.
    ///
    /// # Panics
    ///
    /// If the program cannot be run.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        environment: &[(String, String)],
        log: &Path,
    ) -> Self {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        Self::spawn(command, environment, log)
    }

    /// Starts the program through a wrapper command such as `nice`.
    ///
    /// # Panics
    ///
    /// If the wrapper or the program cannot be run.
    pub fn start_through(
        wrapper: &[&str],
        program: &Path,
        arguments: &[&str],
        environment: &[(String, String)],
        log: &Path,
    ) -> Self {
        let mut command = Command::new(wrapper[0]);
        // The wrapper may change to a user who cannot enter the directory of the program.
        command.args(&wrapper[1..]).arg("/proc/self/fd/0");
        let program = File::open(program).expect("the program is there");
        command.args(arguments).stdin(program);
        Self::spawn(command, environment, log)
    }

    fn spawn(mut command: Command, environment: &[(String, String)], log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log);
        let child = command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SKILLET_LOG", "info,sqlx=warn")
            .envs(environment.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(log.expect("the log can be written"))
            .spawn()
            .expect("the program runs");
        Self { child }
    }

    /// Returns the next line that the process prints, or an empty string if the process ends first.
    ///
    /// # Panics
    ///
    /// If the line is not valid UTF-8.
    pub fn first_line(&mut self) -> String {
        let stdout = self.child.stdout.as_mut().expect("it is piped");
        let (mut line, mut byte) = (Vec::new(), [0]);
        // A buffered reader could read past the end of the line.
        while !line.ends_with(b"\n") && stdout.read(&mut byte).expect("a pipe can be read") > 0 {
            line.push(byte[0]);
        }
        let line = String::from_utf8(line).expect("a line is text");
        line.trim().to_owned()
    }

    /// Sends a signal.
    ///
    /// # Panics
    ///
    /// If the process has already been waited for.
    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).expect("the process is ours");
    }

    /// Kills the process with SIGKILL and waits for it.
    ///
    /// # Panics
    ///
    /// If the process cannot be killed.
    pub fn kill(&mut self) {
        self.child.kill().expect("the process is ours");
        self.child.wait().expect("the process is ours");
    }

    /// Waits for the process to end and returns whether it succeeded.
    ///
    /// # Panics
    ///
    /// If waiting fails.
    pub fn wait(&mut self) -> bool {
        self.child.wait().expect("the process is ours").success()
    }

    /// Returns the exit status if the process has ended.
    ///
    /// # Panics
    ///
    /// If the status cannot be read.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().expect("the process is ours")
    }

    /// Waits for the process to end without blocking the test. Returns `None` on a timeout.
    pub async fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let begun_at = Instant::now();
        while begun_at.elapsed() < patience {
            if let Some(status) = self.ended() {
                return Some(status);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    /// The current anonymous resident memory. File-backed pages do not count because the first requests load many.
    ///
    /// # Panics
    ///
    /// If the process has ended.
    pub fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id()));
        let status = status.expect("the process is there");
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("RssAnon:"));
        let number = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        number.expect("the kernel says it in kB")
    }

    /// The process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
