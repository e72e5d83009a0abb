//! A shell in its own directory that runs the blocks of a page one after the other.

use std::fmt::Write;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;
use tests::model_server::ModelServer;
use tokio::process::Command;
use tokio::time::timeout;

use super::block::{Block, Handling, shows};
use super::{model, path};
use crate::support::{PROGRAM, Service};

/// The longest time for the commands of a page.
const TIMEOUT: Duration = Duration::from_secs(180);
/// The address in the pages. Tests listen on a free port instead.
const ADDRESS: &str = "127.0.0.1:8420";
/// A replacement for Cargo, which would build the program again.
const CARGO: &str = "#!/bin/bash\n[[ \"$1 $2\" == 'run --' ]] || exit 1\nexec skillet \"${@:3}\"\n";
/// Waits until the service of a block has started, and stops the service when the shell exits.
const WAIT_FOR_SERVICE: &str = "SERVICE_PROCESS=$!
trap 'kill $SERVICE_PROCESS; wait $SERVICE_PROCESS' EXIT
until [[ -s $SKILLET_DATA_DIR/service.json ]]; do kill -0 $SERVICE_PROCESS; sleep 0.1; done
";

pub(super) struct Session<'a> {
    page: &'a str,
    service: Option<&'a Service>,
    /// The model provider of a service that the page starts.
    model: ModelServer,
    home: TempDir,
}

impl<'a> Session<'a> {
    pub(super) fn new(page: &'a str, service: Option<&'a Service>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let session = Self {
            page,
            service,
            model: model::start(),
            home,
        };
        let open = || Permissions::from_mode(0o711);
        // As root, the database of `skillet up` runs as another user, who needs access to the directories in it.
        std::fs::set_permissions(session.home.path(), open()).unwrap();
        for folder in ["bin", "out", ".local", ".local/share"] {
            let folder = session.file(folder);
            std::fs::create_dir(&folder).unwrap();
            std::fs::set_permissions(folder, open()).unwrap();
        }
        symlink(PROGRAM, session.file("bin/skillet")).unwrap();
        symlink(path("examples"), session.file("examples")).unwrap();
        std::fs::write(session.file("bin/cargo"), CARGO).unwrap();
        std::fs::set_permissions(session.file("bin/cargo"), Permissions::from_mode(0o755)).unwrap();
        // Make curl fail if the service rejects the request.
        std::fs::write(session.file(".curlrc"), "fail-with-body\nshow-error\n").unwrap();
        session
    }

    fn file(&self, relative: &str) -> PathBuf {
        self.home.path().join(relative)
    }

    /// Runs the blocks and compares their output with the page.
    pub(super) async fn run(&self, blocks: &[Block]) {
        std::fs::write(self.file("script"), script(blocks)).unwrap();
        let shell = self.command().spawn().unwrap();
        let id = Pid::from_raw(shell.id().unwrap().cast_signed()).unwrap();
        let mut ending = Box::pin(shell.wait_with_output());
        let ended = match timeout(TIMEOUT, &mut ending).await {
            Ok(ended) => Ok(ended.unwrap()),
            Err(_) => {
                // Stop the service of the page too.
                let _ = kill_process_group(id, Signal::TERM);
                Err(ending.await.unwrap())
            }
        };
        let at = std::fs::read_to_string(self.file("at")).unwrap_or_default();
        let place = format!("{}:{}", self.page, at.trim());
        let output = match ended {
            Ok(output) if output.status.success() => output,
            Ok(output) => panic!("{place}: a command failed\n{}", self.describe(&output)),
            Err(output) => panic!(
                "{place}: a command does not end\n{}",
                self.describe(&output)
            ),
        };
        for block in blocks {
            self.compare(block, &output);
        }
    }

    fn command(&self) -> Command {
        let home = self.home.path();
        let programs = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new("bash");
        command
            .arg(self.file("script"))
            .current_dir(home)
            .env_clear()
            .env("PATH", format!("{}:{programs}", self.file("bin").display()))
            .env("HOME", home)
            .env("LANG", "C.UTF-8")
            .env("SKILLET_DATA_DIR", self.file(".local/share/skillet"))
            .env("SKILLET_LISTEN", "127.0.0.1:0")
            .env("ANTHROPIC_BASE_URL", self.model.base_url())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(service) = self.service {
            command
                .env("SKILLET_URL", &service.url)
                .env("SKILLET_API_KEY", &service.key);
        }
        command
    }

    fn compare(&self, block: &Block, output: &std::process::Output) {
        for (number, command) in block.commands.iter().enumerate() {
            let Some(expected) = &command.output else {
                continue;
            };
            let file = self.file(&format!("out/{}-{number}", block.line));
            let actual = with_address_of_page(&std::fs::read_to_string(file).unwrap());
            let lines: Vec<_> = actual.lines().collect();
            assert!(
                shows(expected, &lines),
                "{}:{}: `{}` does not print what the page shows, but:\n{actual}\n{}",
                self.page,
                block.line,
                command.text,
                self.describe(output)
            );
        }
    }

    fn describe(&self, output: &std::process::Output) -> String {
        let mut text = String::new();
        for stream in [&output.stdout, &output.stderr] {
            let _ = writeln!(text, "{}", String::from_utf8_lossy(stream));
        }
        text + &self.service.map(Service::logs).unwrap_or_default()
    }
}

/// Returns one script for all blocks, so that they share variables. It records the line of the current block and the
/// output of each command in a console block.
fn script(blocks: &[Block]) -> String {
    let mut script = "set -euo pipefail\n".to_owned();
    for block in blocks {
        let _ = writeln!(script, "echo {} > ~/at", block.line);
        for (number, command) in block.commands.iter().enumerate() {
            let text = &command.text;
            let out = format!("> ~/out/{}-{number} 2>&1", block.line);
            let _ = match (&block.handling, &command.output) {
                (Handling::Background, _) => {
                    let out = out.trim_end_matches(" 2>&1");
                    write!(script, "( exec {text} ) {out} &\n{WAIT_FOR_SERVICE}")
                }
                (_, Some(_)) => writeln!(script, "{{ {text}\n}} {out}"),
                (_, None) => writeln!(script, "{text}"),
            };
        }
    }
    script
}

/// Replaces the actual address of the service with the address in the pages.
fn with_address_of_page(text: &str) -> String {
    let (host, _) = ADDRESS.split_once(':').expect("it has a port");
    let start = format!("{host}:");
    let mut parts = text.split(start.as_str());
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let rest = part.trim_start_matches(|char: char| char.is_ascii_digit());
        format!("{text}{ADDRESS}{rest}")
    })
}
