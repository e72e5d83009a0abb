//! The choice of the service that a client command uses.

use clap::Args;

use super::EmbeddedOptions;
use crate::output::OutputFormat;

/// The heading of options that apply only to a temporary service, which the command itself starts.
pub(crate) const TEMPORARY: &str = "Settings of a temporary service";

/// Options that select a service.
#[derive(Args, Clone)]
pub(crate) struct Remote {
    /// The URL of the service [default: the URL of the profile, else the local service, else a temporary service]
    #[arg(long, env = "SKILLET_URL")]
    pub(crate) url: Option<String>,
    /// The API key for --url
    #[arg(long, env = "SKILLET_API_KEY", hide_env_values = true)]
    pub(crate) api_key: Option<String>,
    /// The profile to use (see `skillet login`). `local` is the service of this machine [default: the profile of the
    /// last login]
    #[arg(long, env = "SKILLET_PROFILE", value_name = "NAME")]
    pub(crate) profile: Option<String>,
    #[command(flatten, next_help_heading = TEMPORARY)]
    pub(crate) own: EmbeddedOptions,
}

/// Options of all commands that use a service.
#[derive(Args, Clone)]
pub(crate) struct ClientOptions {
    #[command(flatten)]
    pub(crate) output: OutputFormat,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
