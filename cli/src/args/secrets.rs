//! Arguments of the secret commands.

use clap::{Args, Subcommand};
use shared::secret::SecretName;

use super::{DataDir, ListAll, Remote};

/// The master keys of secrets. They stay text here: the error of a parser would show them.
#[derive(Args, Clone)]
pub(crate) struct MasterKey {
    /// The master key for secrets: 32 bytes in base64, such as from `openssl rand -base64 32`
    #[arg(
        long,
        env = "SKILLET_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub(crate) master_key: Option<String>,
    /// Earlier master keys, until `skillet secrets rotate` has run
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
    /// The service that the command uses, if it is a client.
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
    /// Set a secret to the text on standard input, without a final newline
    Set(OneSecret),
    /// List secrets, without their values
    List(ListAll),
    /// Delete a secret
    Delete(OneSecret),
    /// Encrypt all secrets with the current master key
    Rotate(Rotate),
}

#[derive(Args)]
pub(crate) struct OneSecret {
    /// The name of the secret, and of the variable in commands
    #[arg(value_parser = SecretName::parse)]
    pub(crate) name: SecretName,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct Rotate {
    /// The URL of the database [default: the private database of the data directory]
    #[arg(long, env = "DATABASE_URL", value_name = "URL", hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    #[command(flatten)]
    pub(crate) home: DataDir,
    #[command(flatten)]
    pub(crate) master_key: MasterKey,
}
