//! What commands take that have to do with API keys.

use clap::{Args, Subcommand};
use shared::id::KeyId;

use super::{ListAll, Remote, parse_id};

#[derive(Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

impl Keys {
    /// The service that the command speaks to.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            KeysCommand::Create(options) => &options.remote,
            KeysCommand::List(options) => &options.remote,
            KeysCommand::Revoke(options) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum KeysCommand {
    /// Create a key and print it, this once
    Create(CreateKey),
    /// List keys, without their secrets
    List(ListAll),
    /// Revoke a key
    Revoke(RevokeKey),
}

#[derive(Args)]
pub(crate) struct CreateKey {
    /// What to call it
    #[arg(long, default_value = "cli")]
    pub(crate) name: String,
    /// Whose key it is; the tenant is created if it is not there
    #[arg(long, default_value = "default")]
    pub(crate) tenant: String,
    /// What it may do
    #[arg(long, value_delimiter = ',', default_value = "jobs", value_parser = ["jobs", "admin"])]
    pub(crate) scopes: Vec<String>,
    /// Print the key as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct RevokeKey {
    /// The key's id, which `skillet keys list` lists
    #[arg(value_parser = parse_id::<KeyId>)]
    pub(crate) key: KeyId,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
