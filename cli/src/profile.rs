//! Profiles: services that the user logged in to, in a file that only the user can read.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::PathBuf;

use anyhow::Context;
use serde::{Deserialize, Serialize};

use crate::directory;

/// The name of the service on this machine. It needs no profile.
pub(crate) const LOCAL: &str = "local";

/// A service and its API key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profile {
    pub(crate) url: String,
    pub(crate) api_key: String,
}

/// The content of `profiles.toml`.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Profiles {
    /// The default profile of commands.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) current: Option<String>,
    #[serde(default)]
    pub(crate) profiles: BTreeMap<String, Profile>,
}

impl Profiles {
    /// The path of the file, whether or not it exists.
    pub(crate) fn file() -> anyhow::Result<PathBuf> {
        Ok(directory::config_path()?.join("profiles.toml"))
    }

    pub(crate) fn read() -> anyhow::Result<Self> {
        let file = Self::file()?;
        match std::fs::read_to_string(&file) {
            Ok(text) => toml::from_str(&text)
                // The full message of the parser quotes the line, which may contain a key.
                .map_err(|error| anyhow::anyhow!(error.message().to_owned()))
                .with_context(|| format!("cannot read {}", file.display())),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error).with_context(|| format!("cannot read {}", file.display())),
        }
    }

    pub(crate) fn write(&self) -> anyhow::Result<()> {
        let file = Self::file()?;
        let folder = file
            .parent()
            .expect("the file is in the configuration directory");
        directory::create_private(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        directory::write_private(&file, &toml::to_string(self)?)
    }

    /// The profile with this name.
    pub(crate) fn get(&self, name: &str) -> anyhow::Result<&Profile> {
        self.profiles.get(name).with_context(|| {
            let names: Vec<_> = self.profiles.keys().map(String::as_str).chain([LOCAL]).collect();
            format!(
                "there is no profile `{name}`; there are: {} (`skillet login URL --profile {name}` creates it)",
                names.join(", ")
            )
        })
    }
}
