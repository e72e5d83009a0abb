//! The service that a client command speaks to: one that is named, one that runs here, or its own.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use ipnet::IpNet;
use tokio::signal::unix::Signal;
use worker::Shutdown;

use crate::Exit;
use crate::args::{KeepFor, Listen, MetricsListen, Remote, Slots, Up};
use crate::client::Client;
use crate::config::Config;
use crate::directory;
use crate::service::{Place, Service};
use crate::shutdown::Signals;

/// A connection to a service, which may be our own.
pub(crate) struct Session {
    pub(crate) client: Client,
    own: Option<Service>,
}

impl Session {
    /// Does something with the service, which is started and stopped if there is none. A signal ends it.
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

    /// The same for who sees to SIGINT itself. If the service is our own, jobs may reach these networks, at hosts
    /// that their skill declares.
    pub(crate) async fn with_interrupt(
        remote: &Remote,
        config: &Config,
        egress_allow: &[IpNet],
        act: impl AsyncFnOnce(&Self, &mut Signal) -> anyhow::Result<Exit>,
    ) -> anyhow::Result<Exit> {
        let mut signals = Signals::listen()?;
        let session = tokio::select! {
            session = Self::open(remote, config, egress_allow) => session?,
            () = signals.any() => return Ok(Exit::Interrupted),
        };
        let acted = tokio::select! {
            acted = act(&session, &mut signals.interrupt) => acted,
            _ = signals.terminate.recv() => Ok(Exit::Interrupted),
        };
        // Whatever came of it, nothing of ours stays behind.
        let closed = session.close().await;
        let exit = acted?;
        closed.map(|()| exit)
    }

    /// Whether the service is there for this session alone.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    async fn open(
        remote: &Remote,
        config: &Config,
        egress_allow: &[IpNet],
    ) -> anyhow::Result<Self> {
        if let Some(url) = &remote.url {
            let key = remote
                .api_key
                .as_deref()
                .context("set SKILLET_API_KEY to a key of that service")?;
            return Ok(Self {
                client: Client::new(url, key)?,
                own: None,
            });
        }
        let home = directory::data(remote.own.common.home.data_dir.as_deref())?;
        if let Some(place) = Place::read(&home) {
            return Ok(Self {
                client: Client::new(&place.url, &place.api_key)?,
                own: None,
            });
        }
        let options = Up {
            listen: Listen {
                listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            },
            own: remote.own.clone(),
            slots: Slots {
                slots: 8,
                worker_silence: 5,
                fetch_allow: Vec::new(),
                egress_allow: egress_allow.to_vec(),
                // Whoever keeps the data directory may keep it for longer than we would.
                keep: KeepFor::EVER,
            },
            metrics: MetricsListen {
                metrics_listen: None,
            },
        };
        let progress = |line: &str| eprintln!("{line}");
        let service = Service::start(options, config, Shutdown::default(), progress).await?;
        let client = Client::new(&service.place.url, &service.place.api_key)?;
        Ok(Self {
            client,
            own: Some(service),
        })
    }

    async fn close(self) -> anyhow::Result<()> {
        match self.own {
            Some(service) => {
                service.hurry();
                service.stop().await
            }
            None => Ok(()),
        }
    }
}
