//! The service that options and profiles select.

use std::path::{Path, PathBuf};

use anyhow::Context;

use crate::args::Remote;
use crate::directory;
use crate::profile::{LOCAL, Profile, Profiles};

/// The options that select a service.
pub(crate) struct ServiceChoice {
    pub(crate) url: Option<String>,
    pub(crate) api_key: Option<String>,
    pub(crate) profile: Option<String>,
    pub(crate) data_dir: Option<PathBuf>,
    /// Whether a database URL is given.
    pub(crate) has_database: bool,
}

impl From<&Remote> for ServiceChoice {
    fn from(remote: &Remote) -> Self {
        Self {
            url: remote.url.clone(),
            api_key: remote.api_key.clone(),
            profile: remote.profile.clone(),
            data_dir: remote.own.common.home.data_dir.clone(),
            has_database: remote.own.database_url.is_some(),
        }
    }
}

impl ServiceChoice {
    /// The choice from environment variables, for code that parses no options.
    pub(crate) fn from_environment() -> Self {
        let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
        Self {
            url: variable("SKILLET_URL"),
            api_key: variable("SKILLET_API_KEY"),
            profile: variable("SKILLET_PROFILE"),
            data_dir: variable("SKILLET_DATA_DIR").map(PathBuf::from),
            has_database: variable("DATABASE_URL").is_some(),
        }
    }
}

/// The service that a command uses.
pub(crate) enum ServiceTarget {
    /// A service with a known URL.
    Service(Profile),
    /// The service of a data directory, which may have to be started.
    Directory(PathBuf),
}

impl ServiceTarget {
    /// Selects the service. A URL wins over a profile, and any given option wins over the last login.
    pub(crate) fn of(choice: &ServiceChoice) -> anyhow::Result<Self> {
        if let Some(url) = &choice.url {
            let api_key = choice.api_key.clone().context(
                "set SKILLET_API_KEY to a key of that service, or log in once: skillet login URL",
            )?;
            let url = url.clone();
            return Ok(Self::Service(Profile { url, api_key }));
        }
        let names_local = choice.data_dir.is_some() || choice.has_database;
        let profiles = match (&choice.profile, names_local) {
            (None, true) => Profiles::default(),
            _ => Profiles::read()?,
        };
        match choice.profile.as_ref().or(profiles.current.as_ref()) {
            Some(name) if name != LOCAL => Ok(Self::Service(profiles.get(name)?.clone())),
            _ => Self::local(choice.data_dir.as_deref()),
        }
    }

    fn local(data_dir: Option<&Path>) -> anyhow::Result<Self> {
        directory::data_path(data_dir).map(Self::Directory)
    }
}
