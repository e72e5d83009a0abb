//! The protocol between the worker and the launcher.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared::sandbox::Isolation;

/// A sandbox to be made, for one command after the other.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The confinement of the command.
    pub(crate) isolation: Isolation,
    /// The user to become first, where the worker is root.
    pub(crate) identity: Option<u32>,
    /// The cgroups to enter first. They keep the limits on memory and processes.
    pub(crate) cgroups: Vec<PathBuf>,
    /// Directories of the host that the command sees beside the usual ones, and cannot change.
    pub(crate) read_only: Vec<PathBuf>,
    /// Packages of the job's skills, each of which is shown at a place of its own.
    pub(crate) packages: Vec<PathBuf>,
    /// Addresses inside on which to listen for the worker.
    pub(crate) listeners: Vec<SocketAddr>,
    /// More lines for /etc/hosts.
    pub(crate) hosts: String,
    /// The limits of the command.
    pub(crate) limits: SandboxLimits,
    /// Available memory of the machine below which commands end, in bytes.
    pub(crate) memory_floor_bytes: u64,
}

/// A command for a sandbox that is ready. Its message brings the pipes for what it prints, and the one for what it
/// reads, if it reads anything.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommandOrder {
    /// The script for bash.
    pub(crate) script: String,
    /// All the variables that it sees.
    pub(crate) environment: Vec<(String, String)>,
    /// The known usage of the job's disk.
    pub(crate) disk: Option<DiskCount>,
}

/// The usage of a job's files when they were last added up. Each of its sandboxes goes on from there.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct DiskCount {
    /// The time of that, by the monotonic clock of the machine.
    pub(crate) at: Duration,
    /// The time it took to add them up.
    pub(crate) took: Duration,
    pub(crate) bytes: u64,
    /// The free space of the disk.
    pub(crate) free_bytes: u64,
}

/// The limits of a command, beside its time and its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxLimits {
    /// Processes and threads at once.
    pub processes: u64,
    /// Open files of one process.
    pub open_files: u64,
    /// Memory of one process that is backed by no file, in bytes.
    pub data_bytes: u64,
    /// Memory of all processes, in bytes.
    pub memory_bytes: u64,
    /// The largest file, in bytes.
    pub file_bytes: u64,
    /// Everything in the job's workspace and `/tmp`, in bytes.
    pub disk_bytes: u64,
    /// Files and directories in them.
    pub disk_entries: u64,
}

impl SandboxLimits {
    /// Enough for an office suite or a browser.
    pub const DEFAULT: Self = Self {
        processes: 256,
        open_files: 4096,
        data_bytes: 2 * GIB,
        memory_bytes: 2 * GIB,
        file_bytes: GIB,
        disk_bytes: 2 * GIB,
        disk_entries: 500_000,
    };
}

const GIB: u64 = 1024 * 1024 * 1024;

/// The replies, in order: `Ready`, and when a command was ordered, `CommandEnd`; or `Failed` instead of either.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherReport {
    /// Everything is set up. The listeners' descriptors come along.
    Ready,
    /// It could not be set up.
    Failed(SetupFailed),
    /// The command has ended, and nothing of it runs any more.
    Ended {
        ended: CommandEnd,
        /// Whether the sandbox is as new and waits for another command.
        is_reusable: bool,
        /// The known usage of the job's disk now.
        disk: Option<DiskCount>,
    },
}

/// A step of the set-up that this machine does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {}", std::io::Error::from_raw_os_error(*errno))]
pub struct SetupFailed {
    /// The step that failed.
    pub step: SetupStep,
    /// The error of the kernel.
    pub errno: i32,
}

/// The steps in which hosts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetupStep {
    /// Reading the specification, entering the directory and the cgroup.
    Begin,
    /// Becoming the job's user.
    Identity,
    /// Making the namespaces.
    Namespaces,
    /// Mapping the user.
    UserMap,
    /// Mounting the file system that the command sees.
    Mounts,
    /// Mounting /proc.
    Proc,
    /// Changing the root.
    Root,
    /// Bringing up the loopback interface, and listening.
    Network,
    /// Giving up capabilities.
    Privileges,
    /// Limits on resources.
    Limits,
    /// Landlock.
    Landlock,
    /// Filtering system calls.
    Seccomp,
    /// Starting bash.
    Exec,
}

impl std::fmt::Display for SetupStep {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Self::Begin => "beginning",
            Self::Identity => "becoming the job's user",
            Self::Namespaces => "making namespaces",
            Self::UserMap => "mapping the user",
            Self::Mounts => "mounting the file system",
            Self::Proc => "mounting /proc",
            Self::Root => "changing the root",
            Self::Network => "setting up the network",
            Self::Privileges => "giving up capabilities",
            Self::Limits => "setting limits",
            Self::Landlock => "Landlock",
            Self::Seccomp => "filtering system calls",
            Self::Exec => "starting bash",
        })
    }
}

/// The end of a command.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CommandEnd {
    /// As a shell gives it: 128 and the number for a signal. `None` if it was made to end.
    pub exit_code: Option<i32>,
    /// The limit that ended it.
    pub limit: Option<Limit>,
    /// CPU time of all processes.
    pub cpu: Duration,
    /// The highest memory use of all processes.
    pub peak_memory_bytes: u64,
}

/// A limit at which a command ends, or something in it fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Limit {
    /// Memory of the command.
    Memory,
    /// Processes and threads.
    Processes,
    /// The size of one file.
    FileSize,
    /// Bytes in the workspace and in `/tmp`.
    Disk,
    /// Files and directories in the workspace and in `/tmp`.
    DiskEntries,
    /// The disk that all jobs share.
    FreeSpace,
    /// The memory of the machine.
    HostMemory,
    /// A process that could not be inspected, so that nothing of what it holds is known.
    Hidden,
    /// Bytes that the command printed.
    Output,
}
