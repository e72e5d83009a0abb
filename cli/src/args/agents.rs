//! What commands take that have to do with agents.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ListAll, Remote};

#[derive(Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

impl Agents {
    /// The service that the command speaks to.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            AgentsCommand::List(options) => &options.remote,
            AgentsCommand::Get(options) | AgentsCommand::Delete(options) => &options.remote,
            AgentsCommand::Put(options) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum AgentsCommand {
    /// List agents
    List(ListAll),
    /// Show an agent as JSON
    Get(OneAgent),
    /// Make an agent, or a new version of it
    Put(PutAgent),
    /// Remove an agent; of `default`, the built-in one comes back
    Delete(OneAgent),
}

#[derive(Args)]
pub(crate) struct OneAgent {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct PutAgent {
    /// Its name
    pub(crate) name: String,
    /// What it is, as JSON: `soul`, `model`, `tools`, …; `-` reads it from standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
