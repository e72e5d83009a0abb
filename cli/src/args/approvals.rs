//! What commands take that have to do with calls that wait for a person.

use clap::{Args, Subcommand};
use shared::id::{ApprovalId, JobId};

use super::Remote;

#[derive(Args)]
pub(crate) struct Approvals {
    #[command(subcommand)]
    pub(crate) command: ApprovalsCommand,
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
    #[arg(long, value_name = "ID")]
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
    pub(crate) approval: ApprovalId,
    /// Why; the model is told if the call is denied
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    #[command(flatten)]
    pub(crate) remote: Remote,
}
