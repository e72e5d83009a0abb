//! The service that a client command speaks to: one that is named, one that runs here, or its own.

use std::net::{Ipv4Addr, SocketAddr};

use anyhow::Context;
use worker::Shutdown;

use crate::args::{Common, Remote, Slots};
use crate::client::Client;
use crate::config::Config;
use crate::directory;
use crate::service::{Place, Service, ServiceOptions};

/// A connection to a service, which may be our own.
pub(crate) struct Session {
    pub(crate) client: Client,
    own: Option<Service>,
}

impl Session {
    /// Finds the service, or starts one for as long as the command runs.
    pub(crate) async fn open(remote: &Remote, config: &Config) -> anyhow::Result<Self> {
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
        let home = directory::data(remote.home.data_dir.as_deref())?;
        if let Some(place) = Place::read(&home) {
            return Ok(Self {
                client: Client::new(&place.url, &place.api_key)?,
                own: None,
            });
        }
        let options = ServiceOptions {
            listen: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            database_url: std::env::var("DATABASE_URL")
                .ok()
                .filter(|url| !url.is_empty()),
            common: Common {
                home: remote.home.clone(),
                assets: std::env::var("SKILLET_ASSETS").ok(),
                skills_dir: std::env::var_os("SKILLET_SKILLS_DIR").map(Into::into),
                default_model: std::env::var("SKILLET_MODEL")
                    .ok()
                    .map(|model| model.parse())
                    .transpose()?,
            },
            slots: Slots {
                slots: 8,
                fetch_allow: Vec::new(),
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

    /// Ends the service if it is our own.
    pub(crate) async fn close(self) -> anyhow::Result<()> {
        match self.own {
            Some(service) => service.stop().await,
            None => Ok(()),
        }
    }
}
