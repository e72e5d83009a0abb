//! Attacks by commands on the machine, inside a sandbox and, to prove that the attack works, outside.
//!
//! `command` tests the limits of output and standard input, and `outputs` tests the rejected files.

mod attack;
mod bomb;
mod cleanup;
mod disk;
mod kernel;
mod life;
mod memory;
mod mode;
mod network;
mod other_job;
mod output;
mod privilege;
mod process;
mod program;
mod removal;
mod reuse;
mod text;
mod user;

pub(crate) use attack::can_attack;
pub(crate) use mode::container;
pub(crate) use reuse::FIRST;
use rustix::process::Pid;

/// Returns a name that is unique on this machine, also across test runs.
fn unique(name: &str) -> String {
    format!("{name}-{}", uuid::Uuid::now_v7().simple())
}

/// Returns the processes of this machine with this name.
fn processes_named(name: &str) -> Vec<Pid> {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    let is_it = |id: &i32| {
        let line = std::fs::read(format!("/proc/{id}/cmdline")).unwrap_or_default();
        line.split(|byte| *byte == 0).next() == Some(name.as_bytes())
    };
    numbers.filter(is_it).filter_map(Pid::from_raw).collect()
}
