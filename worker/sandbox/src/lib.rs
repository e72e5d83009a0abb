//! Sandboxes for commands that models write: namespaces, cgroups, Landlock and seccomp.
//!
//! `init` is the launcher, a separate process that builds each sandbox from the inside. `launcher` and `running` are
//! the worker's side of it, and `spec` is their protocol. `job_sandboxes` holds the sandboxes of one job, one of them
//! ready for its next command. `probe` tests at start-up what this machine can enforce.

mod cgroup;
mod channel;
mod diagnosis;
mod identity;
mod idle;
mod init;
mod job_directory;
mod job_sandboxes;
mod launcher;
mod memory_floor;
mod mode;
mod probe;
mod remove;
mod running;
mod sandbox;
mod seccomp;
mod spec;

pub use diagnosis::Unavailable;
pub use identity::Identity;
pub use idle::LaunchError;
pub use init::main as init_main;
pub use job_directory::JobDirectory;
pub use memory_floor::MemoryFloor;
pub use mode::Mode;
pub use probe::open;
pub use remove::remove_tree;
pub use running::RunningCommand;
pub use sandbox::{NODE_PATH, PATH, Sandbox, SandboxCommand};
pub use spec::{CommandEnd, Limit, SandboxLimits, SetupFailed, SetupStep};
