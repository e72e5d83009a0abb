//! The command line, run in a separate folder.

use std::process::{Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};
use tokio::time::timeout;

use super::{PROGRAM, TIMEOUT};

/// A terminal in its own folder.
pub(crate) struct Terminal {
    pub(crate) folder: TempDir,
    environment: Vec<(String, String)>,
}

/// The result of a command.
#[derive(Debug)]
pub(crate) struct CommandOutput {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Terminal {
    /// Returns a terminal whose environment contains only these variables, `PATH` and `HOME`.
    pub(crate) fn new(environment: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As root, the database of `skillet up` runs as another user, who must be able to traverse the folder.
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o711);
        std::fs::set_permissions(folder.path(), open).unwrap();
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        Self {
            folder,
            environment: environment.iter().map(own).collect(),
        }
    }

    /// Starts a command, which is killed when it is dropped.
    pub(crate) fn spawn(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().unwrap()
    }

    /// Like [`Self::spawn`], through a program that runs the command, as `nice` does.
    pub(crate) fn spawn_through(&self, wrapper: &[&str], arguments: &[&str]) -> Child {
        // The wrapper may change to a user who cannot enter the directory of the program.
        let program = std::fs::File::open(PROGRAM).unwrap();
        let arguments = [&wrapper[1..], &["/proc/self/fd/0"], arguments].concat();
        let mut command = self.command_of(wrapper[0], &arguments);
        command.stdin(program).spawn().unwrap()
    }

    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        self.command_of(PROGRAM, arguments)
    }

    fn command_of(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(self.folder.path())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.folder.path())
            .envs(self.environment.iter().cloned())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        command
    }

    /// Runs a command to its end with this standard input.
    pub(crate) async fn run_with_input(&self, arguments: &[&str], input: &str) -> CommandOutput {
        let mut child = self
            .command(arguments)
            .stdin(Stdio::piped())
            .spawn()
            .unwrap();
        let mut pipe = child.stdin.take().unwrap();
        pipe.write_all(input.as_bytes()).await.unwrap();
        drop(pipe);
        CommandOutput::of(child).await
    }

    /// Runs a command to its end.
    pub(crate) async fn run(&self, arguments: &[&str]) -> CommandOutput {
        CommandOutput::of(self.spawn(arguments)).await
    }

    /// Reads a file of the folder.
    pub(crate) fn read(&self, path: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(path)).unwrap()
    }
}

impl CommandOutput {
    /// Returns the JSON objects that were printed, one per line.
    pub(crate) fn objects(&self) -> Vec<Value> {
        let objects = self.out.lines().map(serde_json::from_str);
        objects
            .collect::<Result<_, _>>()
            .unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Waits for the end of a command.
    pub(crate) async fn of(child: Child) -> Self {
        let ended = timeout(TIMEOUT, child.wait_with_output()).await;
        let Output {
            status,
            stdout,
            stderr,
        } = ended.expect("the command does not end").unwrap();
        Self {
            code: status.code(),
            out: String::from_utf8(stdout).unwrap(),
            err: String::from_utf8(stderr).unwrap(),
        }
    }
}
