//! The choice of the service that a client command uses.

use clap::Args;

use super::{Command, EmbeddedOptions};

/// The choice of a service.
#[derive(Args, Clone)]
pub(crate) struct Remote {
    /// The URL of the service [default: the service of the data directory, or a temporary one]
    #[arg(long, env = "SKILLET_URL")]
    pub(crate) url: Option<String>,
    /// The API key for --url
    #[arg(long, env = "SKILLET_API_KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
    /// For a temporary service.
    #[command(flatten, next_help_heading = "Settings of a temporary service")]
    pub(crate) own: EmbeddedOptions,
}

impl Command {
    /// Whether it is a service or a part of one.
    pub(crate) fn keeps_data(&self) -> bool {
        matches!(self, Self::Up(_) | Self::Api(_) | Self::Worker(_))
    }

    /// The service that it uses, if it is a client.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        let remote = match self {
            Self::Up(_) | Self::Api(_) | Self::Worker(_) | Self::Migrate(_) | Self::Doctor(_) => {
                return None;
            }
            Self::Demo(options) => &options.remote,
            Self::Run(options) => &options.remote,
            Self::Watch(options) => &options.remote,
            Self::Get(options) | Self::Cancel(options) => &options.remote,
            Self::List(options) => &options.remote,
            Self::Skills(skills) => return skills.remote(),
            Self::Agents(agents) => agents.remote(),
            Self::Approvals(approvals) => approvals.remote(),
            Self::Queue(queue) => queue.remote(),
            Self::Keys(keys) => keys.remote(),
            Self::Secrets(secrets) => return secrets.remote(),
        };
        Some(remote)
    }
}
