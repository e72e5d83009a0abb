//! How commands of jobs are confined.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How a worker confines the commands that models write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// In namespaces of their own: files, processes, network, users.
    Namespaced,
    /// By Landlock and seccomp alone: no network at all, and the machine's processes are in sight.
    Landlocked,
    /// Not at all.
    Off,
}

impl Isolation {
    /// As it is stored and configured.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "namespaced",
            Self::Landlocked => "landlocked",
            Self::Off => "off",
        }
    }
}

impl From<String> for Isolation {
    /// What a newer worker may have written and this program does not know counts as nothing.
    fn from(text: String) -> Self {
        match text.as_str() {
            "namespaced" => Self::Namespaced,
            "landlocked" => Self::Landlocked,
            _ => Self::Off,
        }
    }
}

/// How a worker limits the memory of each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MemoryLimit {
    /// By the kernel, in a cgroup: no command can exceed it.
    Enforced,
    /// By looking at it several times a second: a command can exceed it between two looks, and some kinds of memory
    /// are not seen.
    Watched,
}

impl MemoryLimit {
    /// As it is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Watched => "watched",
        }
    }
}

impl From<String> for MemoryLimit {
    /// What a newer worker may have written and this program does not know counts as the weaker one.
    fn from(text: String) -> Self {
        match text.as_str() {
            "enforced" => Self::Enforced,
            _ => Self::Watched,
        }
    }
}

/// What a command took of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CommandUsage {
    /// Processor time of all its processes, in milliseconds.
    pub cpu_ms: u64,
    /// The most memory that they held at once, in bytes; of the largest one, where nothing better can be measured.
    pub peak_memory_bytes: u64,
}
