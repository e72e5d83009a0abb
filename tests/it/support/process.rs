use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_skillet-under-test");

/// A running process, killed when dropped.
pub(crate) struct Process {
    child: Child,
}

impl Process {
    /// Starts the program with an environment of its own, its log going to a file.
    pub(crate) fn start(arguments: &[&str], environment: &[(String, String)], log: &Path) -> Self {
        let mut command = Command::new(PROGRAM);
        command.args(arguments).stdin(Stdio::null());
        Self::spawn(command, environment, log)
    }

    /// The same through a program that runs it, as `nice` does.
    pub(crate) fn start_through(
        wrapper: &[&str],
        arguments: &[&str],
        environment: &[(String, String)],
        log: &Path,
    ) -> Self {
        let mut command = Command::new(wrapper[0]);
        // Whoever the wrapper becomes may not enter the directory that the program is in.
        command.args(&wrapper[1..]).arg("/proc/self/fd/0");
        command.args(arguments).stdin(File::open(PROGRAM).unwrap());
        Self::spawn(command, environment, log)
    }

    fn spawn(mut command: Command, environment: &[(String, String)], log: &Path) -> Self {
        let log = File::options().create(true).append(true).open(log).unwrap();
        let child = command
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("SKILLET_LOG", "info,sqlx=warn")
            .envs(environment.iter().cloned())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        Self { child }
    }

    /// The first line that it prints.
    pub(crate) fn first_line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.child.stdout.as_mut().unwrap())
            .read_line(&mut line)
            .unwrap();
        line.trim().to_owned()
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends it as a power cut would.
    pub(crate) fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end; whether it was a success.
    pub(crate) fn wait(&mut self) -> bool {
        self.child.wait().unwrap().success()
    }

    /// Waits for its end while the test goes on; `None` if it takes longer than that.
    pub(crate) async fn end_within(&mut self, patience: Duration) -> Option<ExitStatus> {
        let begun_at = Instant::now();
        while begun_at.elapsed() < patience {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        None
    }

    /// How much memory it has now.
    pub(crate) fn resident_kilobytes(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let number = line.unwrap().trim().trim_end_matches(" kB");
        number.parse().unwrap()
    }

    /// Its process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
