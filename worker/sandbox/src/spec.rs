//! The protocol between the worker and the launcher.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use shared::sandbox::Isolation;

/// The setup of a sandbox, which runs one command after the other.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Setup {
    /// The confinement of the command.
    pub(crate) isolation: Isolation,
    /// The user to become first, if the worker is root.
    pub(crate) identity: Option<u32>,
    /// The cgroups to join first. They enforce the limits on memory and processes.
    pub(crate) cgroups: Vec<PathBuf>,
    /// Additional directories of the host that the command can read but not change.
    pub(crate) read_only: Vec<PathBuf>,
    /// Packages of the job's skills, each at a separate path inside the sandbox.
    pub(crate) packages: Vec<PathBuf>,
    /// Addresses inside the sandbox on which to listen for the worker.
    pub(crate) listeners: Vec<SocketAddr>,
    /// Additional lines for /etc/hosts.
    pub(crate) hosts: String,
    /// The limits of the command.
    pub(crate) limits: SandboxLimits,
    /// The available memory of the machine below which commands are killed, in bytes.
    pub(crate) memory_floor_bytes: u64,
}

/// A command for an idle sandbox. Its message carries the pipes for its output, and the pipe for its input if it has
/// one.
#[derive(Serialize, Deserialize)]
pub(crate) struct CommandOrder {
    /// The script for bash.
    pub(crate) script: String,
    /// All environment variables of the command.
    pub(crate) environment: Vec<(String, String)>,
    /// The known usage of the job's disk.
    pub(crate) disk: Option<DiskCount>,
}

/// The last measured usage of a job's files. Each sandbox of the job starts from it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(crate) struct DiskCount {
    /// The time of the measurement, by the monotonic clock of the machine.
    pub(crate) at: Duration,
    /// The duration of the measurement.
    pub(crate) took: Duration,
    pub(crate) bytes: u64,
    /// The free space of the disk.
    pub(crate) free_bytes: u64,
}

/// The limits of a command, except its time and its output.
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
    /// Files and directories in the job's workspace and `/tmp`.
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

/// The reports of the launcher: `Ready`, then `Ended` for each command, or `Failed` instead of either.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum LauncherReport {
    /// The sandbox is ready. The message carries the descriptors of the listeners.
    Ready,
    /// The sandbox could not be set up.
    Failed(SetupFailed),
    /// The command has ended, and none of its processes runs any more.
    Ended {
        ended: CommandEnd,
        /// Whether the sandbox is unchanged and waits for another command.
        is_reusable: bool,
        /// The known usage of the job's disk now.
        disk: Option<DiskCount>,
    },
}

/// A setup step that this machine does not allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{step}: {}", std::io::Error::from_raw_os_error(*errno))]
pub struct SetupFailed {
    /// The step that failed.
    pub step: SetupStep,
    /// The error of the kernel.
    pub errno: i32,
}

/// The setup steps, as far as hosts differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SetupStep {
    /// Reading the specification, entering the directory and the cgroup.
    Begin,
    /// Becoming the job's user.
    Identity,
    /// Creating the namespaces.
    Namespaces,
    /// Mapping the user.
    UserMap,
    /// Mounting the file system that the command sees.
    Mounts,
    /// Mounting /proc.
    Proc,
    /// Changing the root.
    Root,
    /// Bringing up the loopback interface and listening.
    Network,
    /// Giving up capabilities.
    Privileges,
    /// Setting limits on resources.
    Limits,
    /// Applying Landlock.
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
    /// The exit code as a shell reports it: 128 and the number for a signal. `None` if a limit or the worker ended the
    /// command.
    pub exit_code: Option<i32>,
    /// The limit that the command reached.
    pub limit: Option<Limit>,
    /// CPU time of all processes.
    pub cpu: Duration,
    /// The highest memory use of all processes.
    pub peak_memory_bytes: u64,
}

/// A limit at which a command ends, or at which one of its operations fails.
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
    /// Free space of the disk that all jobs share.
    FreeSpace,
    /// Available memory of the machine.
    HostMemory,
    /// A process that could not be inspected, so that its usage is not known.
    Hidden,
    /// Bytes that the command printed.
    Output,
}
