//! The server process: search, start, readiness and stop.

use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Child;
use std::thread;
use std::time::{Duration, Instant};

use super::account::Account;
use super::directory::Directory;
use super::error::PostgresError;
use super::installation::Binaries;
use super::postmaster::{self, Holder};
use super::settings::{self, PostgresSettings};
use super::socket::{Readiness, Socket};

/// The maximum time without an answer: from a spawned server, or from a dying server that still holds the cluster,
/// which takes 60 s in the worst case. After that the start fails.
const SILENCE_LIMIT: Duration = Duration::from_secs(90);

/// The maximum time of a start in which the server answers "later". A server recovers at tens of MB a second, and has
/// at most about `max_wal_size` to recover. At the limit the start fails and the server continues to run.
const RECOVERY_LIMIT: Duration = Duration::from_secs(300);

/// The wait after which the user sees a message about it.
const NOTICE_DELAY: Duration = Duration::from_secs(3);

/// The longest pause between two readiness checks. Each "later" is also a line in the server's log.
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// The signals that stop a server, each with its time limit: disconnect all clients and write a checkpoint; abort
/// without a checkpoint; kill.
const WAYS_TO_STOP: [(&str, Duration); 3] = [
    ("INT", Duration::from_secs(20)),
    ("QUIT", Duration::from_secs(8)),
    ("KILL", Duration::from_secs(5)),
];

/// Everything that the start of a server needs.
pub(super) struct Launch<'a> {
    pub(super) directory: &'a Directory,
    pub(super) socket: &'a Socket,
    pub(super) account: &'a Account,
    pub(super) binaries: &'a Binaries,
    pub(super) settings: PostgresSettings,
}

/// A running server. Dropping this leaves it running.
pub(super) struct PostgresServer {
    process: ServerProcess,
    cluster: PathBuf,
    account: Account,
}

enum ServerProcess {
    Child(Child),
    Adopted { pid: u32 },
}

impl PostgresServer {
    /// Adopts the running server of the cluster, or spawns a server as soon as no other process holds the cluster.
    pub(super) fn start(
        launch: &Launch<'_>,
        progress: &dyn Fn(&str),
    ) -> Result<Self, PostgresError> {
        let mut wait = Wait::begin(progress);
        let mut child: Option<Child> = None;
        loop {
            let answer = launch.socket.ask();
            let holder = launch.holder()?;
            match (&answer, &holder) {
                (Readiness::Ready, Holder::Server { pid }) => match child.take() {
                    None => return Ok(launch.server(ServerProcess::Adopted { pid: *pid })),
                    Some(child) if child.id() == *pid => {
                        return Ok(launch.server(ServerProcess::Child(child)));
                    }
                    late => child = late,
                },
                (Readiness::Later(_), _) => wait.heard(),
                (Readiness::Absent, Holder::Nobody | Holder::Dead { .. }) if child.is_none() => {
                    child = Some(launch.spawn(&holder)?);
                }
                (Readiness::Absent, Holder::Blank { for_good: true }) => {
                    launch.remove_blank_pid_file()?;
                }
                _ => {}
            }

            if let Some(spawned) = &mut child
                && let Some(status) = spawned.try_wait().map_err(launch.io("wait for"))?
            {
                if wait.is_over() || !launch.yields_to_another(spawned.id())? {
                    return Err(PostgresError::StartFailed {
                        status,
                        log: launch.directory.log_tail(),
                    });
                }
                child = None;
            }
            if wait.is_over() {
                return Err(PostgresError::NotReady {
                    waited_secs: wait.begun_at.elapsed().as_secs(),
                    answer: answer.to_string(),
                    log: launch.directory.log_tail(),
                });
            }
            wait.pause();
        }
    }

    /// Stops the server with the gentlest signal that works in time.
    pub(super) fn stop(mut self) -> Result<(), PostgresError> {
        let pid = self.pid();
        for (signal, patience) in WAYS_TO_STOP {
            if self.has_ended()? {
                return Ok(());
            }
            self.account.signal(pid, signal)?;
            let deadline = Instant::now() + patience;
            while Instant::now() < deadline {
                if self.has_ended()? {
                    return Ok(());
                }
                thread::sleep(Duration::from_millis(2));
            }
        }
        Err(PostgresError::DoesNotStop { pid })
    }

    pub(super) fn pid(&self) -> u32 {
        match &self.process {
            ServerProcess::Child(child) => child.id(),
            ServerProcess::Adopted { pid } => *pid,
        }
    }

    fn has_ended(&mut self) -> Result<bool, PostgresError> {
        match &mut self.process {
            ServerProcess::Child(child) => child
                .try_wait()
                .map(|status| status.is_some())
                .map_err(PostgresError::io("wait for the server of", &self.cluster)),
            ServerProcess::Adopted { pid } => Ok(!postmaster::serves(*pid, &self.cluster)),
        }
    }
}

impl Launch<'_> {
    fn server(&self, process: ServerProcess) -> PostgresServer {
        PostgresServer {
            process,
            cluster: self.directory.cluster(),
            account: self.account.clone(),
        }
    }

    fn holder(&self) -> Result<Holder, PostgresError> {
        postmaster::holder(&self.directory.cluster()).map_err(self.io("find the server of"))
    }

    fn remove_blank_pid_file(&self) -> Result<(), PostgresError> {
        postmaster::remove_blank(&self.directory.cluster())
            .map_err(self.io("remove the empty postmaster.pid of"))
    }

    /// Whether the spawned process ended because another server, or remaining processes of one, hold the cluster. Kills
    /// such remaining processes.
    fn yields_to_another(&self, ours: u32) -> Result<bool, PostgresError> {
        match self.holder()? {
            Holder::Nobody => Ok(false),
            Holder::Dead { pid } if pid == ours => Ok(false),
            Holder::Dead { .. } => {
                let cluster = self.directory.cluster();
                postmaster::kill_orphans(&cluster, self.account)
                    .map(|()| true)
                    .map_err(self.io("end the processes of a dead server of"))
            }
            Holder::Server { .. } | Holder::Blank { .. } => Ok(true),
        }
    }

    fn spawn(&self, holder: &Holder) -> Result<Child, PostgresError> {
        self.socket.clear();
        let mut command = self.account.command(self.binaries.program("postgres"));
        if let Holder::Dead { pid } = holder {
            // The pid may belong to an unrelated process by now, for example after a restart of the container, or to a
            // zombie that is never reaped. Postgres would take either for a running server, but ignores the pid in this
            // variable, which `pg_ctl` uses to name its own parent. Postgres detects remaining children of the dead
            // server by their shared memory.
            command.env("PG_GRANDPARENT_PID", pid.to_string());
        }
        let log = self.directory.new_log()?;
        command
            .arg("-D")
            .arg(self.directory.cluster())
            .args(settings::arguments(self.settings, &self.socket.directory))
            .stdout(log.try_clone().map_err(self.io("open the log of"))?)
            .stderr(log)
            // Ctrl-C in the terminal is meant for Skillet, which still needs its database to shut down.
            .process_group(0)
            .spawn()
            .map_err(PostgresError::io("run", &self.binaries.program("postgres")))
    }

    fn io(&self, action: &str) -> impl FnOnce(io::Error) -> PostgresError + use<> {
        PostgresError::io(action, &self.directory.cluster())
    }
}

/// The wait for a server to be ready.
struct Wait<'a> {
    begun_at: Instant,
    heard_at: Instant,
    pause: Duration,
    /// The receiver of the message for the user. `None` once the message has been sent.
    progress: Option<&'a dyn Fn(&str)>,
}

impl<'a> Wait<'a> {
    fn begin(progress: &'a dyn Fn(&str)) -> Self {
        let now = Instant::now();
        Self {
            begun_at: now,
            heard_at: now,
            pause: Duration::from_millis(5),
            progress: Some(progress),
        }
    }

    fn heard(&mut self) {
        self.heard_at = Instant::now();
    }

    fn is_over(&self) -> bool {
        self.heard_at.elapsed() > SILENCE_LIMIT || self.begun_at.elapsed() > RECOVERY_LIMIT
    }

    fn pause(&mut self) {
        if self.begun_at.elapsed() > NOTICE_DELAY
            && let Some(progress) = self.progress.take()
        {
            progress("waiting for PostgreSQL, which may be recovering from a crash");
        }
        thread::sleep(self.pause);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }
}
