//! The processes of a command.

use std::collections::HashSet;
use std::fs;

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Rounds in which processes that are being made while others are killed are caught.
const ROUNDS: usize = 200;

/// Which processes are the command's, seen from the one that looks after them.
#[derive(Clone, Copy)]
pub(super) enum Family {
    /// All that are in sight: it is the first of a process namespace.
    Namespace,
    /// All that descend from it: whoever loses its parent becomes its child.
    Descendants,
}

impl Family {
    /// Kills all of them, and all that they are making.
    pub(super) fn kill(self) {
        match self {
            // Everyone but the caller, at one stroke.
            Self::Namespace => {
                let _ = nix::sys::signal::kill(
                    nix::unistd::Pid::from_raw(-1),
                    nix::sys::signal::Signal::SIGKILL,
                );
            }
            Self::Descendants => {
                for _ in 0..ROUNDS {
                    let members = self.members();
                    for member in &members {
                        // It may have ended by itself.
                        let _ = kill_process(*member, Signal::KILL);
                    }
                    if members.iter().all(|member| is_zombie(*member)) {
                        break;
                    }
                }
            }
        }
    }

    /// Those that are there now.
    pub(super) fn members(self) -> Vec<Pid> {
        let all = processes();
        match self {
            Self::Namespace => {
                let own = getpid();
                all.into_iter().filter(|pid| *pid != own).collect()
            }
            Self::Descendants => descendants(&all),
        }
    }
}

fn processes() -> Vec<Pid> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .collect()
}

fn descendants(all: &[Pid]) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = all
        .iter()
        .filter_map(|pid| Some((*pid, parent(*pid)?)))
        .collect();
    let mut family = HashSet::from([getpid()]);
    let mut members = Vec::new();
    loop {
        let before = members.len();
        for (pid, parent) in &parents {
            if family.contains(parent) && family.insert(*pid) {
                members.push(*pid);
            }
        }
        if members.len() == before {
            return members;
        }
    }
}

fn parent(pid: Pid) -> Option<Pid> {
    Pid::from_raw(field(pid, 1)?.parse().ok()?)
}

fn is_zombie(pid: Pid) -> bool {
    field(pid, 0).is_none_or(|state| state == "Z" || state == "X")
}

/// A field of proc_pid_stat(5), counted from behind the name, which may hold anything.
fn field(pid: Pid, index: usize) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(index).map(str::to_owned)
}
