//! Arguments of the approval commands.

use clap::{Args, Subcommand};
use shared::id::{ApprovalId, JobId};

use super::{Remote, parse_id};

#[derive(Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

impl Approvals {
    /// The service that the command uses.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            ApprovalsCommand::List(options) => &options.remote,
            ApprovalsCommand::Approve(options) | ApprovalsCommand::Deny(options) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List tool calls that wait for approval
    List(ListApprovals),
    /// Approve a call
    Approve(OneApproval),
    /// Deny a call
    Deny(OneApproval),
}

#[derive(Args)]
pub(crate) struct ListApprovals {
    /// Only the approvals of this job, answered ones included
    #[arg(long, value_name = "ID", value_parser = parse_id::<JobId>)]
    pub(crate) job: Option<JobId>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    #[command(flatten)]
    pub(crate) remote: Remote,
}

#[derive(Args)]
pub(crate) struct OneApproval {
    /// The id of the approval (see `skillet approvals list`)
    #[arg(value_parser = parse_id::<ApprovalId>)]
    pub(crate) approval: ApprovalId,
    /// The reason. The model receives the reason of a denial
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
