//! Isolation modes of commands.

use serde::{Deserialize, Serialize};

/// The isolation of commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// Parses the stored name. An unknown name, from a newer worker, counts as no isolation.
    fn from(text: String) -> Self {
        match text.as_str() {
            "namespaced" => Self::Namespaced,
            "landlocked" => Self::Landlocked,
            _ => Self::Off,
        }
    }
}

/// How a worker limits the memory of each command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// Parses the stored name. An unknown name, from a newer worker, counts as the weaker mode.
    fn from(text: String) -> Self {
        match text.as_str() {
            "enforced" => Self::Enforced,
            _ => Self::Watched,
        }
    }
}

/// Resources that a command used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct CommandUsage {
    /// Processor time of all its processes, in milliseconds.
    pub cpu_ms: u64,
    /// The most memory that they held at once, in bytes; of the largest one, where nothing better can be measured.
    pub peak_memory_bytes: u64,
}
