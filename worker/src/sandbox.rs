//! Where commands of models run: a sandbox each, so that what a model wrote harms nobody.
//!
//! `init` is the launcher, a process of its own that builds each sandbox from the inside; `launcher` is the
//! worker's side of it; `spec` is what they say to each other. `probe` decides at start-up what this machine
//! can do, by trying it.

mod cgroup;
mod channel;
mod diagnosis;
mod identity;
mod init;
mod launcher;
mod probe;
mod seccomp;
mod spec;

use std::path::{Path, PathBuf};
use std::str::FromStr;

use shared::sandbox::Isolation;

use cgroup::Cgroups;
use identity::Identities;
use launcher::Launcher;

pub use diagnosis::Unavailable;
pub(crate) use identity::Identity;
pub use init::main as init_main;
pub(crate) use launcher::{LaunchError, Running};
pub use probe::open;
use spec::Spec;
pub(crate) use spec::{Ended, Limit, Limits};

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
}

/// A command for a sandbox.
pub(crate) struct Command<'a> {
    pub(crate) script: &'a str,
    /// Beside the variables that every command has.
    pub(crate) environment: Vec<(String, String)>,
    /// Where to listen for the worker, inside.
    pub(crate) listeners: Vec<std::net::SocketAddr>,
    /// More lines for /etc/hosts.
    pub(crate) hosts: String,
    pub(crate) limits: Limits,
}

/// The variables that a command sees, whatever the worker's own environment holds.
const ENVIRONMENT: [(&str, &str); 4] = [
    (
        "PATH",
        "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    ),
    ("LANG", "C.UTF-8"),
    ("TZ", "UTC"),
    ("TERM", "dumb"),
];

impl Sandbox {
    /// One that confines in that way, whether or not this machine can.
    fn new(isolation: Isolation, read_only: Vec<PathBuf>) -> Self {
        Self {
            isolation,
            launcher: Launcher::new(),
            cgroups: (isolation != Isolation::Off).then(Cgroups::take).flatten(),
            identities: (isolation != Isolation::Off)
                .then(Identities::available)
                .flatten(),
            read_only,
        }
    }

    /// How it confines.
    pub fn isolation(&self) -> Isolation {
        self.isolation
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
        let workspace = Workspace::create(place, self.identity()?)?;
        let command = Command {
            script,
            environment: Vec::new(),
            listeners: Vec::new(),
            hosts: String::new(),
            limits: Limits::DEFAULT,
        };
        let running = self.start(command, &workspace).await?;
        let printed = command::read_plain(running).await;
        workspace.quiet().await;
        printed
    }

    /// Starts a command in a job's workspace.
    pub(crate) async fn start(
        &self,
        command: Command<'_>,
        workspace: &Workspace,
    ) -> std::io::Result<Running> {
        let cgroup = match &self.cgroups {
            Some(cgroups) => Some(cgroups.create(&command.limits)?),
            None => None,
        };
        let (home, tmp) = match self.isolation {
            Isolation::Namespaced => ("/workspace".to_owned(), "/tmp".to_owned()),
            _ => workspace.places(),
        };
        let own = ENVIRONMENT.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let places = [
            ("XDG_CACHE_HOME", format!("{tmp}/.cache")),
            ("XDG_CONFIG_HOME", format!("{tmp}/.config")),
            ("HOME", home),
            ("TMPDIR", tmp),
        ];
        let places = places.map(|(name, value)| (name.to_owned(), value));
        let spec = Spec {
            isolation: self.isolation,
            identity: workspace.identity(),
            cgroup: cgroup.as_ref().map(|cgroup| cgroup.path().to_owned()),
            script: command.script.to_owned(),
            environment: own
                .into_iter()
                .chain(places)
                .chain(command.environment)
                .collect(),
            read_only: self.read_only.clone(),
            listeners: command.listeners,
            hosts: command.hosts,
            limits: command.limits,
        };
        self.launcher
            .start(
                &spec,
                cgroup,
                workspace.job_directory(),
                workspace.commands(),
            )
            .await
    }
}
