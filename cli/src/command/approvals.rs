//! `skillet approvals`.

use serde_json::{Value, json};
use shared::approval::Approval;

use super::{print, print_json};
use crate::Exit;
use crate::approval_prompt::question;
use crate::args::{ListApprovals, OneApproval};
use crate::client::Client;
use crate::config::Config;
use crate::session::Session;

/// `skillet approvals list`
pub(super) async fn list(options: &ListApprovals, config: &Config) -> anyhow::Result<Exit> {
    let path = match options.job {
        Some(job) => format!("/v1/jobs/{job}/approvals"),
        None => "/v1/approvals?status=pending".to_owned(),
    };
    let list = async |client: &Client| {
        let approvals = client.list(&path).await?;
        if options.json {
            print_json(&approvals)?;
            return Ok(Exit::Done);
        }
        let approvals: Vec<Approval> = serde_json::from_value(approvals.into())?;
        for approval in approvals {
            let status = serde_json::to_value(approval.status)?;
            let status = status.as_str().unwrap_or_default();
            let until = approval.expires_at.format("%Y-%m-%d %H:%M:%S");
            print(&format!(
                "{}  {status}, until {until}, job {}",
                approval.id, approval.job_id
            ));
            print(&question(&approval));
        }
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, list).await
}

/// `skillet approvals approve` and `skillet approvals deny`
pub(super) async fn resolve(
    options: &OneApproval,
    approved: bool,
    config: &Config,
) -> anyhow::Result<Exit> {
    let resolve = async |client: &Client| {
        let path = format!("/v1/approvals/{}", options.approval);
        let decision = if approved { "approve" } else { "deny" };
        let body = json!({"decision": decision, "reason": options.reason});
        client.post::<Value>(&path, &body).await?;
        Ok(Exit::Done)
    };
    Session::with(&options.remote, config, resolve).await
}
