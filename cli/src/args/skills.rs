//! What commands take that have to do with skills.

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
    /// The service that the command speaks to, if it does.
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
    /// Say whether a folder or an archive is a skill, and what is wrong with it
    Check(CheckSkill),
    /// Upload a folder as a skill of your own, or a new version of it
    Push(PushSkill),
    /// Remove a skill of your own
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
    /// The folder, called like the skill
    #[arg(value_name = "DIR")]
    pub(crate) folder: PathBuf,
    /// Print the skill as JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct DeleteSkill {
    /// Its name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
