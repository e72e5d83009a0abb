//! Arguments of the skill commands.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::{ListAll, Remote};

#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Skills {
    #[command(subcommand)]
    pub(crate) command: Option<SkillsCommand>,
    #[command(flatten)]
    pub(crate) list: ListAll,
}

impl Skills {
    /// The service that the command uses, if it is a client.
    pub(crate) fn remote(&self) -> Option<&Remote> {
        match &self.command {
            None => Some(&self.list.remote),
            Some(SkillsCommand::Check(_)) => None,
            Some(SkillsCommand::Push(options)) => Some(&options.remote),
            Some(SkillsCommand::Delete(options)) => Some(&options.remote),
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum SkillsCommand {
    /// Validate a skill in a folder or an archive
    Check(CheckSkill),
    /// Upload a skill, or a new version of it
    Push(PushSkill),
    /// Delete an uploaded skill
    Delete(DeleteSkill),
}

#[derive(Args)]
pub(crate) struct CheckSkill {
    /// A folder with a SKILL.md, or a ZIP or tar.gz of one
    #[arg(value_name = "DIR|ARCHIVE")]
    pub(crate) place: PathBuf,
}

#[derive(Args)]
pub(crate) struct PushSkill {
    /// The folder of the skill, with the skill's name
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct DeleteSkill {
    /// The name of the skill
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
