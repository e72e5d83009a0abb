//! `skillet approvals`.

use clap::{Args, Subcommand};
use serde_json::Value;
use shared::approval::Approval;
use shared::id::{ApprovalId, JobId};
use skillet_client::Client;

use crate::approval_prompt::question;
use crate::args::parse_id;
use crate::complete;
use crate::exit::Exit;
use crate::noun::Verb;
use crate::output::{Cell, Column, OutputFormat, ResourceKind, text_of};
use crate::terminal::print;

const KIND: ResourceKind = ResourceKind {
    id: "id",
    columns: &[
        Column::new("ID", |it| Cell::text(&it["id"])),
        Column::new("STATUS", |it| Cell::status(&it["status"])),
        Column::new("EXPIRES", |it| Cell::time(&it["expires_at"])),
        Column::new("JOB", |it| Cell::text(&it["job_id"])),
        Column::new("TOOL", |it| Cell::text(&it["tool"])),
        Column::new("INPUT", |it| Cell::text(&it["input"])),
    ],
};

#[derive(Subcommand)]
pub(crate) enum Approvals {
    /// List tool calls that wait for approval
    List(ListApprovalsOptions),
    /// Show a tool call with all of its arguments
    Get(ApprovalArgument),
    /// Approve a tool call
    Approve(AnswerApprovalOptions),
    /// Deny a tool call
    Deny(AnswerApprovalOptions),
}

#[derive(Args, Default)]
pub(crate) struct ListApprovalsOptions {
    /// Only approvals of this job, including answered ones
    #[arg(long, value_name = "ID", value_parser = parse_id::<JobId>, add = complete::jobs())]
    job: Option<JobId>,
}

#[derive(Args)]
pub(crate) struct ApprovalArgument {
    /// The id of the approval
    #[arg(value_parser = parse_id::<ApprovalId>, add = complete::approvals())]
    approval: ApprovalId,
}

#[derive(Args)]
pub(crate) struct AnswerApprovalOptions {
    #[command(flatten)]
    one: ApprovalArgument,
    /// The reason for the answer. The model receives the reason for a denial
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

impl Verb for Approvals {
    fn default() -> Self {
        Self::List(ListApprovalsOptions::default())
    }

    async fn run(&self, client: &Client, output: OutputFormat) -> anyhow::Result<Exit> {
        match self {
            Self::List(ListApprovalsOptions { job }) => {
                let approvals = match job {
                    Some(job) => {
                        client
                            .list(&format!("/v1/jobs/{job}/approvals"), &[], None)
                            .await?
                    }
                    None => {
                        let query = [("status", "pending".to_owned())];
                        client.list("/v1/approvals", &query, None).await?
                    }
                };
                output.list(&approvals, &KIND)?;
            }
            Self::Get(one) => {
                let approval: Value = client.get(&one.path(), &[]).await?;
                output.one(&one.approval.to_string(), &approval, || show(&approval))?;
            }
            Self::Approve(answer) => {
                let approval = client.approve(answer.one.approval, answer.reason.as_deref());
                answer.show(output, &approval.await?)?;
            }
            Self::Deny(answer) => {
                let approval = client.deny(answer.one.approval, answer.reason.as_deref());
                answer.show(output, &approval.await?)?;
            }
        }
        Ok(Exit::Done)
    }
}

impl ApprovalArgument {
    fn path(&self) -> String {
        format!("/v1/approvals/{}", self.approval)
    }
}

impl AnswerApprovalOptions {
    fn show(&self, output: OutputFormat, answered: &Approval) -> anyhow::Result<()> {
        let answered = serde_json::to_value(answered)?;
        let id = self.one.approval.to_string();
        output.one(&id, &answered, || {
            print(&format!("{} {id}", text_of(&answered["status"])))
        })
    }
}

fn show(approval: &Value) -> anyhow::Result<()> {
    let approval: Approval = serde_json::from_value(approval.clone())?;
    let status = text_of(&serde_json::to_value(approval.status)?);
    print(&format!(
        "{}  {status}, job {}",
        approval.id, approval.job_id
    ))?;
    print(&question(&approval))
}
