//! Support for tests: a service for each test, and tools to inspect it.

mod database;
mod gate;
pub(crate) mod log;
pub(crate) mod problem;
pub(crate) mod process;
pub(crate) mod python;
pub(crate) mod receiver;
mod s3;
mod script;
mod service;
pub(crate) mod store;
mod stream;
mod terminal;
mod tty;
mod verifying_s3;

use std::time::Duration;

pub(crate) use database::create as create_database;
pub(crate) use gate::{WAIT_AT_GATE, open_gates};
pub(crate) use process::{PROGRAM, Process};
pub(crate) use s3::{S3, python_with_s3};
pub(crate) use script::run_script;
pub(crate) use service::{Service, bash, create_key, put_runner, scripted, send, until};
pub(crate) use stream::{Stream, follow_through, parse};
pub(crate) use terminal::{CommandOutput, Terminal};
pub(crate) use tty::Tty;
pub(crate) use verifying_s3::VerifyingS3;

/// The longest wait for anything. Busy machines are slow.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(180);

/// Whether all tests must run, as in CI.
pub(crate) fn is_all_required() -> bool {
    std::env::var("SKILLET_TEST_REQUIRE").is_ok_and(|value| value == "all")
}

/// Whether a program that a test needs is installed. If all tests must run, a missing program is a failure.
pub(crate) fn has_program(name: &str) -> bool {
    let found = worker_programs(name);
    assert!(
        found || !is_all_required(),
        "this test needs `{name}`, and SKILLET_TEST_REQUIRE=all"
    );
    if !found {
        eprintln!("left out: this machine has no `{name}`");
    }
    found
}

/// Whether the test runs as root, which it needs to start processes of other users. If all tests must run, another
/// user is a failure.
pub(crate) fn is_root() -> bool {
    let is_root = rustix::process::geteuid().is_root();
    assert!(
        is_root || !is_all_required(),
        "this test needs to be root, and SKILLET_TEST_REQUIRE=all"
    );
    if !is_root {
        eprintln!("left out: it needs to be root");
    }
    is_root
}

/// Returns the number of processes on this machine with this argument, without zombies.
pub(crate) fn processes_with(argument: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|entry| std::fs::read(entry.path().join("cmdline")).ok());
    let has_it = |line: &Vec<u8>| {
        line.split(|byte| *byte == 0)
            .any(|one| one == argument.as_bytes())
    };
    lines.filter(has_it).count()
}

fn worker_programs(name: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(name).is_file())
}
