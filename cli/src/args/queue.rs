//! Arguments of the queue commands.

use clap::{Args, Subcommand};

use super::{ListAll, Remote};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Queue {
    #[command(subcommand)]
    pub(crate) command: Option<QueueCommand>,
    #[command(flatten)]
    pub(crate) show: ListAll,
}

impl Queue {
    /// The service that the command uses.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            None => &self.show.remote,
            Some(QueueCommand::Pause(options) | QueueCommand::Resume(options)) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// Pause dispatch. Running jobs continue, new jobs wait
    Pause(PausedPart),
    /// Resume dispatch
    Resume(PausedPart),
}

#[derive(Args)]
pub(crate) struct PausedPart {
    /// Only for this skill
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
