//! Arguments of the agent commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ListAll, Remote};

#[derive(Args)]
pub(crate) struct Agents {
    #[command(subcommand)]
    pub(crate) command: AgentsCommand,
}

impl Agents {
    /// The service that the command uses.
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
    /// Define an agent, or a new version of it
    Put(PutAgent),
    /// Delete an agent. The built-in `default` is restored
    Delete(OneAgent),
}

#[derive(Args)]
pub(crate) struct OneAgent {
    /// The name of the agent
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct PutAgent {
    /// The name of the agent
    pub(crate) name: String,
    /// A JSON file with `soul`, `model`, `tools` and so on. `-` reads standard input
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
