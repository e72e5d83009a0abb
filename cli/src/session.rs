//! The service that a client command uses: a named one, the local one, or a temporary one.

mod target;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use ipnet::IpNet;
use skillet_client::Client;
use tokio::signal::unix::Signal;
use worker::Shutdown;

use crate::args::{KeepFor, Listen, MetricsListen, Remote, Slots, Up};
use crate::config::Config;
use crate::connect::connect;
use crate::directory;
use crate::exit::Exit;
use crate::profile::Profile;
use crate::service::{DirectoryLock, Service, ServiceFile};
use crate::shutdown::ShutdownSignals;
use crate::terminal::say;

pub(crate) use target::{ServiceChoice, ServiceTarget};

/// The maximum wait for a service that is starting. Its database may need a recovery.
const START_TIMEOUT: Duration = Duration::from_secs(300);
/// The time between two checks.
const START_POLL: Duration = Duration::from_millis(50);

/// Whether a command with these options only talks to an existing service, and starts none.
pub(crate) fn finds_service(remote: &Remote) -> bool {
    match ServiceTarget::of(&ServiceChoice::from(remote)) {
        Ok(ServiceTarget::Service(_)) => true,
        Ok(ServiceTarget::Directory(home)) => ServiceFile::read(&home).is_some(),
        // The command reports the error.
        Err(_) => true,
    }
}

/// The service that the options select. It must be running already.
pub(crate) fn running_service(remote: &Remote) -> anyhow::Result<Profile> {
    match ServiceTarget::of(&ServiceChoice::from(remote))? {
        ServiceTarget::Service(service) => Ok(service),
        ServiceTarget::Directory(home) => {
            let file = ServiceFile::read(&home).with_context(|| {
                format!(
                    "no service runs in {}; start one with `skillet up`, or log in to one with `skillet login URL`",
                    home.display()
                )
            })?;
            let (url, api_key) = (file.url, file.api_key);
            Ok(Profile { url, api_key })
        }
    }
}

/// The state of a data directory.
enum DirectoryState {
    /// A service runs.
    Service(ServiceFile),
    /// No service runs; the lock is held, so one can be started.
    Free(DirectoryLock),
}

/// A connection to a service, which may be a temporary one in this process.
pub(crate) struct Session {
    pub(crate) client: Client,
    own: Option<Service>,
}

impl Session {
    /// Runs `act` with the service. If there is none, starts a temporary service and stops it afterwards. A signal ends
    /// `act`.
    pub(crate) async fn with(
        remote: &Remote,
        config: &Config,
        act: impl AsyncFnOnce(&Client) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let act = async |session: &Self, interrupt: &mut Signal| {
            tokio::select! {
                acted = act(&session.client) => acted,
                _ = interrupt.recv() => Ok(Exit::Interrupted),
            }
        };
        Self::with_interrupt(remote, config, &[], act).await
    }

    /// Like [`Self::with`], for a command that handles SIGINT itself. With a temporary service, jobs may reach the
    /// networks in `egress_allow`, at hosts that their skill declares.
    pub(crate) async fn with_interrupt(
        remote: &Remote,
        config: &Config,
        egress_allow: &[IpNet],
        act: impl AsyncFnOnce(&Self, &mut Signal) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let mut signals = ShutdownSignals::listen()?;
        let session = tokio::select! {
            session = Self::open(remote, config, egress_allow) => session?,
            () = signals.any() => return Ok(Exit::Interrupted),
        };
        let acted = tokio::select! {
            acted = act(&session, &mut signals.interrupt) => acted,
            _ = signals.terminate.recv() => Ok(Exit::Interrupted),
        };
        // The temporary service is stopped after an error too.
        let closed = session.close().await;
        let exit = acted?;
        closed.map(|()| exit)
    }

    /// Whether the service is the temporary one of this session.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    async fn open(
        remote: &Remote,
        config: &Config,
        egress_allow: &[IpNet],
    ) -> anyhow::Result<Self> {
        let home = match ServiceTarget::of(&ServiceChoice::from(remote))? {
            ServiceTarget::Service(profile) => {
                return Ok(Self {
                    client: connect(&profile.url, &profile.api_key)?,
                    own: None,
                });
            }
            ServiceTarget::Directory(home) => home,
        };
        directory::create(&home).with_context(|| format!("cannot create {}", home.display()))?;
        let lock = match find(&home).await? {
            DirectoryState::Service(file) => {
                return Ok(Self {
                    client: connect(&file.url, &file.api_key)?,
                    own: None,
                });
            }
            DirectoryState::Free(lock) => lock,
        };
        let options = Up {
            listen: Listen {
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
                cors_origins: Vec::new(),
                public_url: None,
            },
            own: remote.own.clone(),
            slots: Slots {
                slots: 8,
                worker_silence: 5,
                fetch_allow: Vec::new(),
                egress_allow: egress_allow.to_vec(),
                install_skill_requirements: false,
                // A temporary service deletes nothing, because its data directory may be used again.
                keep: KeepFor::EVER,
            },
            metrics: MetricsListen {
                metrics_listen: None,
            },
        };
        let service = Service::start(options, config, lock, &Shutdown::default(), say).await?;
        let client = connect(&service.file.url, &service.file.api_key)?;
        Ok(Self {
            client,
            own: Some(service),
        })
    }

    async fn close(self) -> anyhow::Result<()> {
        match self.own {
            Some(service) => {
                service.stop_now();
                service.stop().await
            }
            None => Ok(()),
        }
    }
}

/// Finds the service of a data directory. Waits for a service that is starting or stopping.
async fn find(home: &Path) -> anyhow::Result<DirectoryState> {
    let mut is_told = false;
    let find = async {
        loop {
            if let Some(file) = ServiceFile::read(home) {
                return Ok(DirectoryState::Service(file));
            }
            if let Some(lock) = DirectoryLock::take_if_free(home)? {
                return Ok(DirectoryState::Free(lock));
            }
            if !is_told {
                is_told = true;
                let home = home.display();
                say(&format!(
                    "the service in {home} is starting or stopping; waiting for it"
                ));
            }
            tokio::time::sleep(START_POLL).await;
        }
    };
    tokio::time::timeout(START_TIMEOUT, find)
        .await
        .with_context(|| {
            let seconds = START_TIMEOUT.as_secs();
            format!(
                "the service in {} did not start within {seconds} s",
                home.display()
            )
        })?
}
