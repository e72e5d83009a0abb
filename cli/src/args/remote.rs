//! Which service a command speaks to.

use clap::Args;

use super::{Command, Own};

/// Which service to speak to.
#[derive(Args, Clone)]
pub(crate) struct Remote {
    /// The service; the one of the data directory if not given, or one that runs while the command does
    #[arg(long, env = "SKILLET_URL")]
    pub(crate) url: Option<String>,
    /// The key for --url
    #[arg(long, env = "SKILLET_API_KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
    /// For a service that runs while the command does.
    #[command(flatten, next_help_heading = "If the command runs its own service")]
    pub(crate) own: Own,
}

impl Command {
    /// Whether it is a service or a part of one, and not a client.
    pub(crate) fn keeps_data(&self) -> bool {
        matches!(self, Self::Up(_) | Self::Api(_) | Self::Worker(_))
    }

    /// The service that it speaks to, if it does.
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
