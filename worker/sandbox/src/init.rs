//! The launcher, `skillet sandbox-init`: a small single-threaded process that forks each sandbox. Its memory and
//! environment contain nothing that a command could misuse.
//!
//! The worker starts it once. For each sandbox it sends a message with three descriptors: the control channel, the
//! job's directory, and the setup of the sandbox. When the sandbox is ready, the command arrives over the control
//! channel. Another command can follow if the first one left no traces. The channel is also a lifeline: when the
//! worker's end closes, even because the worker was killed, everything in that sandbox dies.

mod command;
mod disk;
mod filesystem;
mod landlock;
mod limit_watchdog;
mod memory;
mod namespace;
mod network;
mod process;
mod process_set;
mod reuse_check;
mod supervise;
mod tree;
mod unlinked_usage;
mod usage;
mod user_processes;

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::process::ExitCode;
use std::sync::Arc;

use nix::sys::signal::{SigHandler, Signal, signal};
use nix::unistd::{ForkResult, fork};
use rustix::fs::Mode;
use rustix::process::{DumpableBehavior, Pid, fchdir, set_child_subreaper, set_dumpable_behavior};
use seccompiler::BpfProgram;
use serde::de::DeserializeOwned;
use shared::sandbox::Isolation;

use super::channel::{self, ChannelMessage};
use super::identity::is_host_root;
use super::seccomp::{self, Sockets};
use super::spec::{LauncherReport, Setup, SetupFailed, SetupStep};
use filesystem::Layout;
pub(super) use filesystem::{packages_place, shows};
use limit_watchdog::LimitWatchdog;
use process_set::ProcessSet;
use supervise::Supervisor;

/// The data that all sandboxes share.
struct SandboxConstants {
    layout: Layout,
    confined: BpfProgram,
    no_sockets: BpfProgram,
}

/// The request for a sandbox.
struct SandboxRequest {
    control: OwnedFd,
    directory: OwnedFd,
    setup: File,
}

/// Serves requests until the worker is gone. Standard input is the channel to the worker.
pub fn main() -> ExitCode {
    match serve() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!(
                "sandbox-init: {error:#}; only workers start this command, do not run it directly"
            );
            ExitCode::FAILURE
        }
    }
}

fn serve() -> anyhow::Result<()> {
    // The worker's umask is for its own files. Commands get the usual umask.
    rustix::process::umask(Mode::WGRP | Mode::WOTH);
    command::close_from(3)?;
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    // The first process of a command is reparented to the launcher when its parent exits. Nobody waits for it.
    set_child_subreaper(Some(rustix::process::getpid()))?;
    handle(Signal::SIGCHLD, SigHandler::SigIgn)?;
    let prepared = SandboxConstants {
        layout: Layout::look(),
        confined: seccomp::program(Sockets::Confined)?,
        no_sockets: seccomp::program(Sockets::None)?,
    };
    let channel = io::stdin();
    while let Some(message) = channel::receive(&channel)? {
        let handed = SandboxRequest::from_message(message)?;
        if fork_child()?.is_none() {
            let control = handed.control.try_clone()?;
            let failed = begin(handed, &prepared).expect_err("it ends this process itself");
            report(&control, &LauncherReport::Failed(failed));
            exit(1);
        }
    }
    Ok(())
}

impl SandboxRequest {
    fn from_message(message: ChannelMessage) -> anyhow::Result<Self> {
        let descriptors: [OwnedFd; 3] = message
            .descriptors
            .try_into()
            .map_err(|_| anyhow::anyhow!("a message does not have three descriptors"))?;
        let [control, directory, setup] = descriptors;
        Ok(Self {
            control,
            directory,
            setup: setup.into(),
        })
    }
}

/// Reads JSON from a file without a name.
fn read_json<T: DeserializeOwned>(mut file: File) -> io::Result<T> {
    let mut json = Vec::new();
    file.read_to_end(&mut json)?;
    Ok(serde_json::from_slice(&json)?)
}

/// Sets up a sandbox. This runs in the sandbox's own process.
fn begin(handed: SandboxRequest, prepared: &SandboxConstants) -> Result<Infallible, SetupFailed> {
    handle(Signal::SIGCHLD, SigHandler::SigDfl).map_err(at(SetupStep::Begin))?;
    // Standard input is the launcher's channel. A process that keeps it open would make a killed launcher look alive
    // to the worker.
    let null = File::open("/dev/null").map_err(at(SetupStep::Begin))?;
    rustix::stdio::dup2_stdin(null).map_err(at(SetupStep::Begin))?;
    let SandboxRequest {
        control,
        directory,
        setup,
    } = handed;
    let setup: Setup = read_json(setup).map_err(at(SetupStep::Begin))?;
    for cgroup in &setup.cgroups {
        std::fs::write(cgroup.join("cgroup.procs"), "0").map_err(at(SetupStep::Begin))?;
    }
    let oom_control = limit_watchdog::oom_control(&setup);
    if setup.isolation == Isolation::Namespaced {
        // Applies to the whole sandbox, because it ends with its first process.
        command::go_first().map_err(at(SetupStep::Limits))?;
    }
    // This can need root, so it comes before the change of user. Namespaces that are created later keep this
    // directory.
    fchdir(&directory).map_err(at(SetupStep::Begin))?;
    if let Some(identity) = setup.identity {
        namespace::become_user(identity).map_err(at(SetupStep::Identity))?;
    }
    // No command may be root for the kernel: root owns the files of /proc/sys, and other confinement does not protect
    // them.
    if setup.isolation != Isolation::Off && is_host_root() {
        return Err(at(SetupStep::Identity)(io::Error::from_raw_os_error(
            libc::EPERM,
        )));
    }
    let (process_set, filter, listeners) = match setup.isolation {
        Isolation::Namespaced => {
            namespace::make()?;
            // Only a child is in the new process namespace, as its first process.
            if fork_child().map_err(at(SetupStep::Namespaces))?.is_some() {
                exit(0);
            }
            filesystem::build(&prepared.layout, &setup)?;
            let listeners = network::listen(&setup.listeners).map_err(at(SetupStep::Network))?;
            namespace::seal().map_err(at(SetupStep::Privileges))?;
            set_dumpable_behavior(DumpableBehavior::NotDumpable)
                .map_err(at(SetupStep::Privileges))?;
            (ProcessSet::Namespace, &prepared.confined, listeners)
        }
        isolation @ (Isolation::Landlocked | Isolation::Off) => {
            set_child_subreaper(Some(rustix::process::getpid())).map_err(at(SetupStep::Begin))?;
            rustix::process::chdir("workspace").map_err(at(SetupStep::Begin))?;
            let owns_user = setup.identity.is_some();
            let process_set = match isolation {
                Isolation::Landlocked if landlock::keep_signals_in() => ProcessSet::Scope,
                _ => ProcessSet::Descendants { owns_user },
            };
            (process_set, &prepared.no_sockets, Vec::new())
        }
    };
    let watch = LimitWatchdog::new(&directory, &setup, process_set, oom_control)
        .map_err(at(SetupStep::Limits))?;
    let supervisor = Supervisor {
        control: &control,
        setup: &setup,
        filter,
        watch: Arc::new(watch),
        process_set,
    };
    supervisor.serve(listeners)
}

/// Forks. Returns the child's process id in the parent and `None` in the child.
fn fork_child() -> io::Result<Option<Pid>> {
    // SAFETY: only the forking thread continues in the child. The launcher has no other thread, and the supervisor of
    // a command has none yet.
    #[expect(unsafe_code)]
    let forked = unsafe { fork() }?;
    Ok(match forked {
        ForkResult::Child => None,
        ForkResult::Parent { child } => Pid::from_raw(child.as_raw()),
    })
}

fn handle(which: Signal, handler: SigHandler) -> io::Result<()> {
    // SAFETY: neither the default action nor ignoring a signal runs code of this program.
    #[expect(unsafe_code)]
    unsafe { signal(which, handler) }?;
    Ok(())
}

/// Ends this process at once, without the exit handlers that it inherited from its parent.
fn exit(code: i32) -> ! {
    // SAFETY: it does not return.
    #[expect(unsafe_code)]
    unsafe {
        libc::_exit(code)
    }
}

/// Sends a report to the worker. Errors are ignored, because then the worker is gone.
fn report(control: impl AsFd, report: &LauncherReport) {
    let json = serde_json::to_vec(report).expect("reports have string keys");
    let _ = channel::send(control, &json, &[]);
}

/// Adds the setup step to an error.
fn at<E: Into<io::Error>>(step: SetupStep) -> impl FnOnce(E) -> SetupFailed {
    move |error| SetupFailed {
        step,
        errno: error.into().raw_os_error().unwrap_or(libc::EINVAL),
    }
}
