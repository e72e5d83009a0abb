//! Arguments of the API key commands.

use clap::{Args, Subcommand};
use shared::id::KeyId;

use super::{ListAll, Remote, parse_id};

#[derive(Args)]
pub(crate) struct Keys {
    #[command(subcommand)]
    pub(crate) command: KeysCommand,
}

impl Keys {
    /// The service that the command uses.
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
    /// Create a key and print it. It is not shown again
    Create(CreateKey),
    /// List keys, without their values
    List(ListAll),
    /// Revoke a key
    Revoke(RevokeKey),
}

#[derive(Args)]
pub(crate) struct CreateKey {
    /// The name of the key
    #[arg(long, default_value = "cli")]
    pub(crate) name: String,
    /// The tenant. It is created if it does not exist
    #[arg(long, default_value = "default")]
    pub(crate) tenant: String,
    /// The scopes of the key
    #[arg(long, value_delimiter = ',', default_value = "jobs", value_parser = ["jobs", "admin"])]
    pub(crate) scopes: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct RevokeKey {
    /// The id of the key (see `skillet keys list`)
    #[arg(value_parser = parse_id::<KeyId>)]
    pub(crate) key: KeyId,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
