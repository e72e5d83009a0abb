//! Isolation modes of commands.

use serde::{Deserialize, Serialize};

/// The isolation of the commands of jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Isolation {
    /// Commands run in their own namespaces: files, processes, network and users.
    Namespaced,
    /// Commands are restricted by Landlock and seccomp only. They have no network, and they can see the processes of
    /// the host.
    Landlocked,
    /// Commands are not isolated.
    Off,
}

impl Isolation {
    /// Returns the name for storage and configuration.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Namespaced => "namespaced",
            Self::Landlocked => "landlocked",
            Self::Off => "off",
        }
    }
}

impl From<String> for Isolation {
    /// Parses the stored name. An unknown name, from a newer worker, counts as no isolation.
    fn from(text: String) -> Self {
        match text.as_str() {
            "namespaced" => Self::Namespaced,
            "landlocked" => Self::Landlocked,
            _ => Self::Off,
        }
    }
}

/// The way in which a worker limits the memory of each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum MemoryLimit {
    /// The kernel enforces the limit with a cgroup. No command can exceed it.
    Enforced,
    /// The worker measures memory several times a second. A command can exceed the limit between two measurements,
    /// and some kinds of memory are not measured.
    Watched,
}

impl MemoryLimit {
    /// Returns the name for storage.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Enforced => "enforced",
            Self::Watched => "watched",
        }
    }
}

impl From<String> for MemoryLimit {
    /// Parses the stored name. An unknown name, from a newer worker, counts as the weaker mode.
    fn from(text: String) -> Self {
        match text.as_str() {
            "enforced" => Self::Enforced,
            _ => Self::Watched,
        }
    }
}

/// The resources that a command used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandUsage {
    /// The CPU time of all processes of the command, in milliseconds.
    pub cpu_ms: u64,
    /// The peak memory of all processes of the command together, in bytes. If only single processes can be measured,
    /// the peak memory of the largest one.
    pub peak_memory_bytes: u64,
}
