//! What commands take that have to do with the queue.

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
    /// The service that the command speaks to.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            None => &self.show.remote,
            Some(QueueCommand::Pause(options) | QueueCommand::Resume(options)) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum QueueCommand {
    /// Have no more jobs begun; those that run go on, and new ones wait
    Pause(PausedPart),
    /// Have jobs begun again
    Resume(PausedPart),
}

#[derive(Args)]
pub(crate) struct PausedPart {
    /// Only jobs of this skill
    #[arg(long)]
    pub(crate) skill: Option<String>,
    /// Print the queue as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
