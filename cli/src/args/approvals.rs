//! What commands take that have to do with calls that wait for a person.

use clap::{Args, Subcommand};
use shared::id::{ApprovalId, JobId};

use super::{Remote, parse_id};

#[derive(Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
}

impl Approvals {
    /// The service that the command speaks to.
    pub(crate) fn remote(&self) -> &Remote {
        match &self.command {
            ApprovalsCommand::List(options) => &options.remote,
            ApprovalsCommand::Approve(options) | ApprovalsCommand::Deny(options) => &options.remote,
        }
    }
}

#[derive(Subcommand)]
pub(crate) enum ApprovalsCommand {
    /// List calls that wait for a person
    List(ListApprovals),
    /// Let a call run
    Approve(OneApproval),
    /// Tell the model that a call may not run
    Deny(OneApproval),
}

#[derive(Args)]
pub(crate) struct ListApprovals {
    /// Only those of this job, with those that are answered
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
    /// The approval, which `skillet approvals list` lists
    #[arg(value_parser = parse_id::<ApprovalId>)]
    pub(crate) approval: ApprovalId,
    /// Why; the model is told if the call is denied
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
