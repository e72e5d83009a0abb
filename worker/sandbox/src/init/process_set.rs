//! The processes of a command.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::process::{self, Process};
use super::usage::{ChildUsage, Waited};

/// Rounds of stopping processes, because new ones can start during each round.
const ROUNDS: usize = 50;
/// The pause between two attempts to kill processes that have started since.
const PAUSE: Duration = Duration::from_millis(1);

/// The rule for which processes belong to the command, from the view of their supervisor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessSet {
    /// All visible processes. The supervisor is the first process of a process namespace.
    Namespace,
    /// All descendants of the supervisor, which adopts orphaned processes. It can signal no other processes.
    Scope,
    /// All descendants of the supervisor. It can also signal other processes.
    Descendants {
        /// Whether no other job has processes of this user.
        owns_user: bool,
    },
}

impl ProcessSet {
    /// Kills all processes, including those that are being created.
    pub(super) fn kill(self) {
        match self {
            Self::Namespace | Self::Scope => kill_signalable(),
            Self::Descendants { owns_user } => {
                let are_stopped = stop_descendants();
                // Some processes can replace themselves faster than they are found. Killing all processes of the user
                // ends them, and other commands of the same job too.
                if !are_stopped && owns_user {
                    kill_signalable();
                }
                for descendant in self.members() {
                    // The process may have exited already.
                    let _ = kill_process(descendant, Signal::KILL);
                }
            }
        }
    }

    /// Kills all processes and waits for the last one.
    pub(super) fn end(self, usage: &mut ChildUsage) {
        loop {
            self.kill();
            match self {
                // No process was missed, so each wait ends.
                Self::Namespace | Self::Scope => {
                    while let Waited::ChildEnded(..) = usage.wait(true) {}
                    return;
                }
                Self::Descendants { .. } => match usage.wait_all() {
                    Waited::Nobody => return,
                    _ => thread::sleep(PAUSE),
                },
            }
        }
    }

    /// Returns the current processes.
    pub(super) fn members(self) -> Vec<Pid> {
        let all = process::all();
        match self {
            Self::Namespace => {
                let own = getpid();
                all.into_iter().filter(|id| *id != own).collect()
            }
            Self::Scope | Self::Descendants { .. } => descendants(&all),
        }
    }
}

/// Kills every process that this one can signal, except itself, in one call. A process that is forking cannot escape
/// it.
fn kill_signalable() {
    let _ = nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(-1),
        nix::sys::signal::Signal::SIGKILL,
    );
}

/// Stops all descendants. Stopped processes cannot fork, and they still count towards the process limit. Returns
/// whether no new processes appeared in the end.
fn stop_descendants() -> bool {
    let mut stopped = HashSet::new();
    (0..ROUNDS).any(|_| {
        let mut has_new = false;
        for descendant in descendants(&process::all()) {
            if Process::look(descendant).is_some() && stopped.insert(descendant) {
                has_new = true;
                let _ = kill_process(descendant, Signal::STOP);
            }
        }
        !has_new
    })
}

fn descendants(all: &[Pid]) -> Vec<Pid> {
    let parents: Vec<(Pid, Pid)> = all
        .iter()
        .filter_map(|id| Some((*id, process::parent(*id)?)))
        .collect();
    let mut descendants = HashSet::from([getpid()]);
    let mut members = Vec::new();
    loop {
        let before = members.len();
        for (id, parent) in &parents {
            if descendants.contains(parent) && descendants.insert(*id) {
                members.push(*id);
            }
        }
        if members.len() == before {
            return members;
        }
    }
}
