//! Where commands of models run: in sandboxes, so that what a model wrote harms nobody.
//!
//! `init` is the launcher, a process of its own that builds each sandbox from the inside; `launcher` and `running`
//! are the worker's side of it; `spec` is what they say to each other. `underway` is what a job has, and keeps for its next command. `probe` decides at start-up what this machine
//! can do, by trying it.

mod cgroup;
mod channel;
mod diagnosis;
mod identity;
mod init;
mod launcher;
mod memory_floor;
mod probe;
mod running;
mod seccomp;
mod spec;
mod underway;

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::metrics::histogram::Histogram;
use shared::sandbox::{Isolation, MemoryLimit};
use shared::telemetry::metrics;
use tokio::sync::Semaphore;

use cgroup::{Cgroup, Cgroups};
use identity::Identities;
use launcher::Launcher;

pub use diagnosis::Unavailable;
pub(crate) use identity::Identity;
pub use init::main as init_main;
pub use memory_floor::MemoryFloor;
pub use probe::open;
use running::Idle;
pub(crate) use running::{LaunchError, Running};
pub(crate) use spec::{Ended, Limit, Limits};
use spec::{Order, Setup};
use underway::Home;
pub(crate) use underway::Underway;

use crate::command;
use crate::workspace::Workspace;

/// What the operator wants. Nothing that a client or a model says changes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mode {
    /// Namespaces, or the worker does not start.
    #[default]
    Required,
    /// Where there are no namespaces, Landlock; if there is no Landlock, the worker does not start.
    AllowLandlocked,
    /// None: commands run as the worker's own user. For development.
    Off,
}

impl FromStr for Mode {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "required" => Ok(Self::Required),
            "allow-landlocked" => Ok(Self::AllowLandlocked),
            "off" => Ok(Self::Off),
            _ => Err("must be one of: required, allow-landlocked, off"),
        }
    }
}

/// What runs commands.
pub struct Sandbox {
    isolation: Isolation,
    launcher: Launcher,
    cgroups: Option<Cgroups>,
    identities: Option<Identities>,
    read_only: Vec<PathBuf>,
    memory_floor_bytes: u64,
    /// Sandboxes of all jobs that may be kept for another command.
    places: Arc<Semaphore>,
    starts: Histogram,
}

/// A command for a sandbox.
pub(crate) struct Command<'a> {
    pub(crate) script: &'a str,
    /// Beside the variables that every command has.
    pub(crate) environment: Vec<(String, String)>,
    /// A folder of the workspace whose programs come before others of the same name.
    pub(crate) programs: Option<&'static str>,
    /// Where to listen for the worker, inside.
    pub(crate) listeners: Vec<std::net::SocketAddr>,
    /// More lines for /etc/hosts.
    pub(crate) hosts: String,
    pub(crate) limits: Limits,
    /// Whether it is written to. If not, there is nothing on its standard input.
    pub(crate) reads: bool,
}

/// Sandboxes that are kept for another command, at about a megabyte each. Those of other jobs end with theirs.
const MAX_KEPT: usize = 32;

/// Where `node` looks for packages that the machine has, beside those that Debian brings: those of `npm install -g`.
pub(crate) const NODE_PATH: &str =
    "/usr/local/lib/node_modules:/usr/lib/node_modules:/usr/share/nodejs";

/// Where commands find programs.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The variables that a command sees, whatever the worker's own environment holds.
const ENVIRONMENT: [(&str, &str); 4] = [
    ("NODE_PATH", NODE_PATH),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
];

impl Sandbox {
    /// One that confines in that way, whether or not this machine can.
    fn new(isolation: Isolation, read_only: Vec<PathBuf>, memory_floor: MemoryFloor) -> Self {
        Self {
            isolation,
            launcher: Launcher::new(),
            cgroups: (isolation != Isolation::Off).then(Cgroups::take).flatten(),
            identities: (isolation != Isolation::Off)
                .then(Identities::available)
                .flatten(),
            read_only,
            memory_floor_bytes: memory_floor.bytes(),
            places: Arc::new(Semaphore::new(MAX_KEPT)),
            starts: metrics::short(),
        }
    }

    /// How long commands took to start.
    pub(crate) fn starts(&self) -> Histogram {
        self.starts.clone()
    }

    /// How it confines.
    pub fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// How the memory of a command is limited.
    pub fn memory_limit(&self) -> MemoryLimit {
        match self.cgroups {
            Some(_) => MemoryLimit::Enforced,
            None => MemoryLimit::Watched,
        }
    }

    /// Whether commands see that path of the machine.
    pub fn sees(&self, path: &Path) -> bool {
        self.isolation == Isolation::Off
            || init::shows(path)
            || self.read_only.iter().any(|shown| path.starts_with(shown))
    }

    /// Whether commands can have any network.
    pub(crate) fn has_network(&self) -> bool {
        self.isolation != Isolation::Landlocked
    }

    /// Jobs that may run at once, if that is limited: where all have one user and see each other, one.
    pub(crate) fn max_jobs(&self) -> Option<u32> {
        let is_shared = self.isolation == Isolation::Landlocked && self.identities.is_none();
        is_shared.then_some(1)
    }

    /// A user for a job, if it gets one of its own. An error means that all are taken.
    pub(crate) fn identity(&self) -> anyhow::Result<Option<Identity>> {
        let Some(identities) = &self.identities else {
            return Ok(None);
        };
        if self.isolation == Isolation::Namespaced {
            return Ok(Some(identities.take()));
        }
        let alone = identities.take_alone();
        Ok(Some(alone.ok_or_else(|| {
            anyhow::anyhow!("all users for jobs are taken")
        })?))
    }

    /// Runs a script in a workspace of its own, made at `place`, and returns the little that it prints.
    pub async fn run_once(&self, script: &str, place: PathBuf) -> anyhow::Result<String> {
        let workspace = Workspace::new(place, self.identity()?);
        let printed = self.run_plain(script, &workspace).await;
        workspace.quiet().await;
        printed
    }

    /// Runs a script so many times in one workspace, as a job does, and returns how long each took.
    pub async fn time(
        &self,
        script: &str,
        times: usize,
        place: PathBuf,
    ) -> anyhow::Result<Vec<Duration>> {
        let workspace = Workspace::new(place, self.identity()?);
        let mut all = Vec::with_capacity(times);
        for _ in 0..times {
            let begun_at = Instant::now();
            self.run_plain(script, &workspace).await?;
            all.push(begun_at.elapsed());
        }
        workspace.quiet().await;
        Ok(all)
    }

    async fn run_plain(&self, script: &str, workspace: &Workspace) -> anyhow::Result<String> {
        let command = Command {
            script,
            environment: Vec::new(),
            programs: None,
            listeners: Vec::new(),
            hosts: String::new(),
            limits: Limits::DEFAULT,
            reads: false,
        };
        command::read_plain(self.start(command, workspace).await?).await
    }

    /// Starts a command in a job's workspace.
    pub(crate) async fn start(
        &self,
        command: Command<'_>,
        workspace: &Workspace,
    ) -> Result<Running, LaunchError> {
        let begun_at = Instant::now();
        let setup = Setup {
            isolation: self.isolation,
            identity: workspace.identity(),
            cgroups: Vec::new(),
            read_only: self.read_only.clone(),
            listeners: command.listeners,
            hosts: command.hosts,
            limits: command.limits,
            memory_floor_bytes: self.memory_floor_bytes,
        };
        let order = Order {
            script: command.script.to_owned(),
            environment: self.environment(workspace, command.programs, command.environment),
            disk: workspace.underway().disk(),
        };
        let owner = workspace.identity();
        let ready = match workspace.underway().take(&setup) {
            Some(kept) => kept.run(&order, command.reads, owner).await.ok(),
            None => None,
        };
        let mut running = match ready {
            Some(running) => running,
            // There was none, or something killed it.
            None => {
                let made = self.make(&setup, workspace).await?;
                made.run(&order, command.reads, owner).await?
            }
        };
        running.keep_at(Home {
            underway: workspace.underway().clone(),
            setup,
            places: self.places.clone(),
        });
        self.starts.observe(begun_at.elapsed().as_secs_f64());
        Ok(running)
    }

    async fn make(&self, setup: &Setup, workspace: &Workspace) -> Result<Idle, LaunchError> {
        let cgroup = match &self.cgroups {
            Some(cgroups) => Some(cgroups.create(&setup.limits)?),
            None => None,
        };
        let setup = Setup {
            cgroups: cgroup.as_ref().map_or_else(Vec::new, Cgroup::directories),
            ..setup.clone()
        };
        let tracker = &workspace.underway().tracker;
        let directory = workspace.job_directory()?;
        self.launcher.make(&setup, cgroup, directory, tracker).await
    }

    /// The variables of a command: those that all have, and its own.
    fn environment(
        &self,
        workspace: &Workspace,
        programs: Option<&str>,
        own: Vec<(String, String)>,
    ) -> Vec<(String, String)> {
        let (home, tmp) = match self.isolation {
            Isolation::Namespaced => ("/workspace".to_owned(), "/tmp".to_owned()),
            _ => workspace.places(),
        };
        let path = match programs {
            Some(folder) => format!("{home}/{folder}:{PATH}"),
            None => PATH.to_owned(),
        };
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
