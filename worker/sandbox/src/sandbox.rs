//! The sandbox: an isolation level, and the commands that are started under it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::telemetry::metrics;
use tokio::io::AsyncReadExt;
use tokio::sync::Semaphore;

use crate::cgroup::{Cgroup, Cgroups};
use crate::identity::{Identities, Identity};
use crate::idle::{IdleSandbox, LaunchError};
use crate::init;
use crate::job_directory::JobDirectory;
use crate::job_sandboxes::ReuseSlot;
use crate::launcher::Launcher;
use crate::memory_floor::MemoryFloor;
use crate::running::RunningCommand;
use crate::spec::{CommandOrder, SandboxLimits, Setup};

/// The configuration and the shared resources of all sandboxes of a worker.
pub struct Sandbox {
    isolation: Isolation,
    launcher: Launcher,
    cgroups: Option<Cgroups>,
    identities: Option<Identities>,
    read_only: Vec<PathBuf>,
    memory_floor_bytes: u64,
    /// Permits for idle sandboxes of all jobs.
    idle_permits: Arc<Semaphore>,
    starts: Histogram,
}

/// A command for a sandbox.
pub struct SandboxCommand<'a> {
    /// The script for bash.
    pub script: &'a str,
    /// Variables in addition to those that every command has.
    pub environment: Vec<(String, String)>,
    /// A folder of the workspace that comes first in the search path for programs.
    pub programs: Option<&'static str>,
    /// Addresses inside the sandbox on which to listen for the worker.
    pub listeners: Vec<std::net::SocketAddr>,
    /// Additional lines for /etc/hosts.
    pub hosts: String,
    /// The limits of the command.
    pub limits: SandboxLimits,
    /// Whether the worker writes to the standard input. Otherwise the standard input is empty.
    pub reads: bool,
}

/// The maximum number of idle sandboxes, at about a megabyte each. Beyond it, a sandbox ends with its command.
const MAX_KEPT: usize = 32;

/// The maximum standard output of a script that [`Sandbox::run_in`] returns.
const MAX_PLAIN_OUTPUT_BYTES: u64 = 16 * 1024;

/// The folders in which `node` finds packages of the machine: those of `npm install -g` and those of Debian.
pub const NODE_PATH: &str = "/usr/local/lib/node_modules:/usr/lib/node_modules:/usr/share/nodejs";

/// The search path for programs.
pub const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables of every command, independent of the worker's own environment.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("NODE_PATH", NODE_PATH),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
];

impl Sandbox {
    /// Returns a sandbox with this isolation, whether or not this machine supports it.
    pub(crate) fn new(
        isolation: Isolation,
        read_only: Vec<PathBuf>,
        memory_floor: MemoryFloor,
    ) -> Self {
        Self {
            isolation,
            launcher: Launcher::new(),
            cgroups: (isolation != Isolation::Off).then(Cgroups::take).flatten(),
            identities: (isolation != Isolation::Off)
                .then(Identities::available)
                .flatten(),
            read_only,
            memory_floor_bytes: memory_floor.bytes(),
            idle_permits: Arc::new(Semaphore::new(MAX_KEPT)),
            starts: metrics::short(),
        }
    }

    /// The time that commands took to start.
    pub fn starts(&self) -> Histogram {
        self.starts.clone()
    }

    /// The kind of isolation.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The method that limits the memory of a command.
    pub fn memory_limit(&self) -> MemoryLimit {
        match self.cgroups {
            Some(_) => MemoryLimit::Enforced,
            None => MemoryLimit::Watched,
        }
    }

    /// Returns whether commands can see this path of the machine.
    pub fn sees(&self, path: &Path) -> bool {
        self.isolation == Isolation::Off
            || init::shows(path)
            || self.read_only.iter().any(|shown| path.starts_with(shown))
    }

    /// Whether commands can have a network.
    pub fn has_network(&self) -> bool {
        self.isolation != Isolation::Landlocked
    }

    /// The maximum number of concurrent jobs, if there is one. It is one if all jobs share a user and can see each
    /// other.
    pub fn max_jobs(&self) -> Option<u32> {
        let is_shared = self.isolation == Isolation::Landlocked && self.identities.is_none();
        is_shared.then_some(1)
    }

    /// Returns a user for a job, if jobs have separate users. An error means that all are taken.
    pub fn identity(&self) -> anyhow::Result<Option<Identity>> {
        let Some(identities) = &self.identities else {
            return Ok(None);
        };
        if self.isolation == Isolation::Namespaced {
            return Ok(Some(identities.take()));
        }
        let alone = identities.take_alone();
        Ok(Some(alone.ok_or_else(|| {
            anyhow::anyhow!("all users for jobs are in use")
        })?))
    }

    /// Runs a script in a new directory at `path`, and returns the start of its standard output.
    pub async fn run_once(&self, script: &str, path: PathBuf) -> anyhow::Result<String> {
        let directory = JobDirectory::new(path, self.identity()?);
        let printed = self.run_in(script, &directory).await;
        directory.quiesce().await;
        printed
    }

    /// Runs a script several times in one directory, like a job, and returns the duration of each run.
    pub async fn time(
        &self,
        script: &str,
        times: usize,
        path: PathBuf,
    ) -> anyhow::Result<Vec<Duration>> {
        let directory = JobDirectory::new(path, self.identity()?);
        let mut all = Vec::with_capacity(times);
        for _ in 0..times {
            let begun_at = Instant::now();
            self.run_in(script, &directory).await?;
            all.push(begun_at.elapsed());
        }
        directory.quiesce().await;
        Ok(all)
    }

    /// Runs a script without network in a directory, and returns the start of its standard output. Dropping the future
    /// ends the script.
    pub async fn run_in(&self, script: &str, directory: &JobDirectory) -> anyhow::Result<String> {
        let command = SandboxCommand {
            script,
            environment: Vec::new(),
            programs: None,
            listeners: Vec::new(),
            hosts: String::new(),
            limits: SandboxLimits::DEFAULT,
            reads: false,
        };
        let mut running = self.start(command, directory).await?;
        let (stdout, _stderr) = running.take_output();
        let mut text = String::new();
        let mut start = stdout.take(MAX_PLAIN_OUTPUT_BYTES);
        start.read_to_string(&mut text).await?;
        running.ended().await?;
        Ok(text)
    }

    /// Starts a command in a job's directory.
    pub async fn start(
        &self,
        command: SandboxCommand<'_>,
        directory: &JobDirectory,
    ) -> Result<RunningCommand, LaunchError> {
        let begun_at = Instant::now();
        let mut read_only = self.read_only.clone();
        let mut packages = directory.packages().to_vec();
        if self.isolation != Isolation::Namespaced {
            read_only.append(&mut packages);
        }
        let setup = Setup {
            isolation: self.isolation,
            identity: directory.user(),
            cgroups: Vec::new(),
            read_only,
            packages,
            listeners: command.listeners,
            hosts: command.hosts,
            limits: command.limits,
            memory_floor_bytes: self.memory_floor_bytes,
        };
        let order = CommandOrder {
            script: command.script.to_owned(),
            environment: self.environment(directory, command.programs, command.environment),
            disk: directory.sandboxes().disk(),
        };
        let owner = directory.user();
        let ready = match directory.sandboxes().take(&setup) {
            Some(idle) => RunningCommand::start(idle, &order, command.reads, owner)
                .await
                .ok(),
            None => None,
        };
        let mut running = match ready {
            Some(running) => running,
            // There was no idle sandbox, or something killed it.
            None => {
                let idle = self.make(&setup, directory).await?;
                RunningCommand::start(idle, &order, command.reads, owner).await?
            }
        };
        running.keep_at(ReuseSlot {
            sandboxes: directory.sandboxes().clone(),
            setup,
            permits: self.idle_permits.clone(),
        });
        self.starts.observe(begun_at.elapsed().as_secs_f64());
        Ok(running)
    }

    async fn make(
        &self,
        setup: &Setup,
        directory: &JobDirectory,
    ) -> Result<IdleSandbox, LaunchError> {
        let cgroup = match &self.cgroups {
            Some(cgroups) => Some(cgroups.create(&setup.limits)?),
            None => None,
        };
        let setup = Setup {
            cgroups: cgroup.as_ref().map_or_else(Vec::new, Cgroup::directories),
            ..setup.clone()
        };
        let tracker = &directory.sandboxes().tracker;
        let opened = directory.job()?;
        self.launcher.make(&setup, cgroup, opened, tracker).await
    }

    /// Returns the variables of a command: the common ones and its own.
    fn environment(
        &self,
        directory: &JobDirectory,
        programs: Option<&str>,
        own: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let (home, tmp) = match self.isolation {
            Isolation::Namespaced => ("/workspace".to_owned(), "/tmp".to_owned()),
            _ => directory.host_paths(),
        };
        let mut path = match programs {
            Some(folder) => format!("{home}/{folder}:{PATH}"),
            None => PATH.to_owned(),
        };
        let mut own = own;
        let mut python = Vec::new();
        let mut node = Vec::new();
        for (number, layer) in directory.packages().iter().enumerate() {
            let layer = match self.isolation {
                Isolation::Namespaced => init::packages_place(number),
                _ => layer.clone(),
            };
            let layer = layer.display();
            path += &format!(":{layer}/python/bin:{layer}/node/node_modules/.bin");
            python.push(format!("{layer}/python"));
            node.push(format!("{layer}/node/node_modules"));
        }
        if !python.is_empty() {
            node.push(NODE_PATH.to_owned());
            own.push(("PYTHONPATH".to_owned(), python.join(":")));
            own.push(("NODE_PATH".to_owned(), node.join(":")));
        }
        let places = [
            ("PATH", path),
            ("XDG_CACHE_HOME", format!("{tmp}/.cache")),
            ("XDG_CONFIG_HOME", format!("{tmp}/.config")),
            ("HOME", home),
            ("TMPDIR", tmp),
        ];
        let all = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let places = places.map(|(name, value)| (name.to_owned(), value));
        all.into_iter().chain(places).chain(own).collect()
    }
}
