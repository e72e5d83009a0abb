//! The processes of a command.

use std::collections::HashSet;
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, getpid, kill_process};

use super::process::{self, Process};
use super::usage::{ChildUsage, Waited};

/// Rounds in which processes that are being made while others are stopped are caught.
const ROUNDS: usize = 50;
/// Between two attempts to end those that were made meanwhile.
const PAUSE: Duration = Duration::from_millis(1);

/// The rule for which processes are the command's, seen from their supervisor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ProcessSet {
    /// All that are in sight: it is the first of a process namespace.
    Namespace,
    /// All that descend from it: a process that loses its parent becomes its child. It can signal no others.
    Scope,
    /// All that descend from it, and it can signal others, too.
    Descendants {
        /// Whether no other job has processes of this user.
        owns_user: bool,
    },
}

impl ProcessSet {
    /// Kills all of them, and all that they are making.
    pub(super) fn kill(self) {
        match self {
            Self::Namespace | Self::Scope => kill_signalable(),
            Self::Descendants { owns_user } => {
                let are_stopped = stop_descendants();
                // Those that replace themselves faster than they are found may take others of the same job along.
                if !are_stopped && owns_user {
                    kill_signalable();
                }
                for descendant in self.members() {
                    // It may have ended by itself.
                    let _ = kill_process(descendant, Signal::KILL);
                }
            }
        }
    }

    /// Kills all of them and waits for the last.
    pub(super) fn end(self, usage: &mut ChildUsage) {
        loop {
            self.kill();
            match self {
                // None was left out, so each wait comes to its end.
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

    /// Those that are there now.
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

/// Kills everyone that this process may signal but itself, at one stroke: who is forking meanwhile does not get to it.
fn kill_signalable() {
    let _ = nix::sys::signal::kill(
        nix::unistd::Pid::from_raw(-1),
        nix::sys::signal::Signal::SIGKILL,
    );
}

/// Stops them, so that they make no others and take up the room that there is for processes. Says whether there
/// were no more in the end.
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
