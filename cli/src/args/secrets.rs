//! What commands take that have to do with secrets.

use clap::{Args, Subcommand};
use shared::secret::SecretName;

use super::{Home, ListAll, Remote};

/// The keys that secrets are encrypted under. They stay text here: a parser's error would show them.
#[derive(Args, Clone)]
pub(crate) struct MasterKey {
    /// The key that secrets are encrypted under: 32 bytes in base64, as `openssl rand -base64 32` makes them
    #[arg(
        long,
        env = "SKILLET_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub(crate) master_key: Option<String>,
    /// Keys that secrets may still be encrypted under; `skillet secrets rotate` makes them superfluous
    #[arg(
        long,
        env = "SKILLET_PREVIOUS_MASTER_KEYS",
        value_name = "KEY",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub(crate) previous_master_keys: Vec<String>,
}

#[derive(Args)]
pub(crate) struct Secrets {
    #[command(subcommand)]
    pub(crate) command: SecretsCommand,
}

impl Secrets {
    /// The service that the command speaks to, if it does.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match &self.command {
            SecretsCommand::Set(options) | SecretsCommand::Delete(options) => Some(&options.remote),
            SecretsCommand::List(options) => Some(&options.remote),
            SecretsCommand::Rotate(_) => None,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum SecretsCommand {
    /// Set a secret to what is on standard input, but for a final newline
    Set(OneSecret),
    /// List secrets, without their values
    List(ListAll),
    /// Remove a secret
    Delete(OneSecret),
    /// Encrypt all secrets again, under the current master key
    Rotate(Rotate),
}

#[derive(Args)]
pub(crate) struct OneSecret {
    /// Its name, and the variable in which skills find it
    #[arg(value_parser = SecretName::parse)]
    pub(crate) name: SecretName,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct Rotate {
    /// The database; the private one of the data directory if not given
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    #[command(flatten)]
    pub(crate) home: Home,
    #[command(flatten)]
    pub(crate) master_key: MasterKey,
}
