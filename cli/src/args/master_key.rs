//! The master keys of secrets.

use clap::Args;

/// The master keys of secrets. They are not parsed here, because the error of a clap parser would show them.
#[derive(Args, Clone)]
pub(crate) struct MasterKeyOptions {
    /// The master key for secrets: 32 bytes in base64, for example from `openssl rand -base64 32`
    #[arg(
        long,
        env = "SKILLET_MASTER_KEY",
        value_name = "KEY",
        hide_env_values = true
    )]
    pub(crate) master_key: Option<String>,
    /// Previous master keys, separated by commas. Needed until `skillet secrets rotate` has run
    #[arg(
        long,
        env = "SKILLET_PREVIOUS_MASTER_KEYS",
        value_name = "KEY",
        value_delimiter = ',',
        hide_env_values = true
    )]
    pub(crate) previous_master_keys: Vec<String>,
}
