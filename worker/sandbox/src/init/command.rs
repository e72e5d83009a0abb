//! The process of a command, from the fork to bash.

use std::convert::Infallible;
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, sigprocmask};
use nix::unistd::execve;
use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit, setsid,
};
use rustix::thread::set_no_new_privs;
use seccompiler::BpfProgram;
use shared::sandbox::Isolation;

use super::{at, handle, landlock, read_json, user_processes};
use crate::channel;
use crate::spec::{CommandOrder, DiskCount, Setup, SetupFailed, SetupStep};

/// Threads that the worker may start while a command runs. A command can exceed its limit by this number until the
/// watchdog notices.
const WORKER_THREADS: u64 = 64;
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash"];

/// A command with the pipes for its output and input.
pub(super) struct Ordered {
    stdout: OwnedFd,
    stderr: OwnedFd,
    stdin: Option<OwnedFd>,
    order: CommandOrder,
}

impl Ordered {
    /// Waits for a command. Returns `None` if the worker is gone.
    pub(super) fn receive(control: &OwnedFd) -> io::Result<Option<Self>> {
        let Some(message) = channel::receive(control)? else {
            return Ok(None);
        };
        let mut descriptors = message.descriptors;
        let stdin = (descriptors.len() > 3).then(|| descriptors.pop()).flatten();
        let descriptors: Result<[OwnedFd; 3], _> = descriptors.try_into();
        let [stdout, stderr, order] = descriptors.map_err(|_| io::ErrorKind::InvalidData)?;
        Ok(Some(Self {
            stdout,
            stderr,
            stdin,
            order: read_json(order.into())?,
        }))
    }

    /// The known usage of the job's disk.
    pub(super) fn disk(&self) -> Option<DiskCount> {
        self.order.disk
    }
}

/// Prepares this process and replaces it with bash.
pub(super) fn exec(
    setup: &Setup,
    ordered: &Ordered,
    filter: &BpfProgram,
) -> Result<Infallible, SetupFailed> {
    let order = &ordered.order;
    setsid().map_err(at(SetupStep::Exec))?;
    redirect(ordered).map_err(at(SetupStep::Exec))?;
    handle(Signal::SIGPIPE, SigHandler::SigDfl).map_err(at(SetupStep::Exec))?;
    sigprocmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None)
        .map_err(at(SetupStep::Exec))?;
    if setup.isolation != Isolation::Namespaced {
        go_first().map_err(at(SetupStep::Limits))?;
    }
    limit(setup).map_err(at(SetupStep::Limits))?;
    close_from(3).map_err(at(SetupStep::Exec))?;
    let script = CString::new(order.script.as_str());
    let script = script.map_err(|error| at(SetupStep::Exec)(io::Error::from(error)))?;
    let arguments = [c"bash".to_owned(), c"-c".to_owned(), script];
    let environment = variables(order)?;
    match setup.isolation {
        Isolation::Namespaced => {}
        Isolation::Landlocked => landlock::restrict(&setup.read_only)?,
        Isolation::Off => return shell(&arguments, &environment),
    }
    set_no_new_privs(true).map_err(at(SetupStep::Privileges))?;
    seccompiler::apply_filter(filter)
        .map_err(|_| at(SetupStep::Seccomp)(io::Error::last_os_error()))?;
    shell(&arguments, &environment)
}

fn shell(arguments: &[CString], environment: &[CString]) -> Result<Infallible, SetupFailed> {
    let mut failed = nix::errno::Errno::ENOENT;
    for path in SHELLS.iter().filter(|path| Path::new(path).exists()) {
        let path = CString::new(*path).expect("these paths have no NUL");
        let Err(error) = execve(&path, arguments, environment);
        failed = error;
    }
    Err(at(SetupStep::Exec)(failed))
}

fn variables(order: &CommandOrder) -> Result<Vec<CString>, SetupFailed> {
    let pairs = order.environment.iter();
    pairs
        .map(|(name, value)| CString::new(format!("{name}={value}")))
        .collect::<Result<_, _>>()
        .map_err(|error| at(SetupStep::Exec)(io::Error::from(error)))
}

/// Connects the pipes to the three standard descriptors. Without an input pipe, standard input is empty.
fn redirect(ordered: &Ordered) -> io::Result<()> {
    let null = std::fs::File::open("/dev/null")?;
    match &ordered.stdin {
        Some(stdin) => rustix::stdio::dup2_stdin(stdin)?,
        None => rustix::stdio::dup2_stdin(&null)?,
    }
    rustix::stdio::dup2_stdout(&ordered.stdout)?;
    rustix::stdio::dup2_stderr(&ordered.stderr)?;
    debug_assert!(null.as_raw_fd() > 2, "the three are taken");
    Ok(())
}

/// Makes the kernel kill the command before the worker when memory runs out. If this process is root, the command
/// cannot undo it (proc_pid_oom_score_adj(5)).
pub(super) fn go_first() -> io::Result<()> {
    // A process owns its files in /proc only while it is dumpable.
    set_dumpable_behavior(DumpableBehavior::Dumpable)?;
    std::fs::write("/proc/self/oom_score_adj", "1000")
}

fn limit(setup: &Setup) -> io::Result<()> {
    let limits = &setup.limits;
    let mut all = vec![
        (Resource::Core, 0),
        (Resource::Nofile, limits.open_files),
        (Resource::Data, limits.data_bytes),
        (Resource::Fsize, limits.file_bytes),
        // A message queue outlives all processes, and queues cannot be listed.
        (Resource::Msgqueue, 0),
    ];
    // A cgroup limit would also count the supervisor of the command and could deny it the watchdog thread.
    if let Some(most) = most_of_user(setup)? {
        all.push((Resource::Nproc, most));
    }
    for (resource, most) in all {
        let most = getrlimit(resource)
            .maximum
            .map_or(most, |hard| hard.min(most));
        setrlimit(
            resource,
            Rlimit {
                current: Some(most),
                maximum: Some(most),
            },
        )?;
    }
    Ok(())
}

/// Returns the process limit of this user that allows the command its full number of processes and threads.
fn most_of_user(setup: &Setup) -> io::Result<Option<u64>> {
    let most = setup.limits.processes;
    // The kernel counts only this user namespace, or the user belongs to this job only.
    if setup.isolation == Isolation::Namespaced || setup.identity.is_some() {
        return Ok(Some(most));
    }
    if setup.isolation == Isolation::Off {
        return Ok(None);
    }
    // The other processes of the user count as well, and the worker may start more threads.
    let others = user_processes::count()?;
    Ok(others.map(|others| others + most + WORKER_THREADS))
}

/// Marks all descriptors from `first` on to be closed when bash starts.
pub(super) fn close_from(first: u32) -> io::Result<()> {
    // SAFETY: nothing is closed now, so descriptors that are in use stay valid.
    #[expect(unsafe_code)]
    let result = unsafe {
        libc::syscall(
            libc::SYS_close_range,
            first,
            libc::c_uint::MAX,
            libc::CLOSE_RANGE_CLOEXEC,
        )
    };
    if result == 0 {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
