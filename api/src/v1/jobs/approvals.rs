//! `/v1/jobs/{job_id}/approvals`

use actix_web::web::{Data, Path, Query};
use actix_web::{get, post};
use serde::Deserialize;
use shared::approval::{Answer, Approval, ApprovalStatus};
use shared::db::{self, Pool};
use shared::id::{ApprovalId, JobId};
use utoipa::ToSchema;

use super::find;
use crate::auth::Caller;
use crate::body::Json;
use crate::doorbell::Doorbell;
use crate::problem::{ApiError, Problem};
use crate::v1::approvals::{ApprovalPage, ListApprovals};

/// The longest reason.
const MAX_REASON_CHARS: usize = 2000;

/// Lists the approvals of a job, the newest first.
#[utoipa::path(tag = "approvals",
    params(("job_id" = JobId, Path, description = "The job"), ListApprovals),
    responses(
        (status = 200, description = "A page of approvals", body = ApprovalPage),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/jobs/{job_id}/approvals")]
pub(crate) async fn list_job_approvals(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
    query: Query<ListApprovals>,
) -> Result<actix_web::web::Json<ApprovalPage>, ApiError> {
    let job = find(&pool, caller.tenant, *job).await?.id;
    let page = query.into_inner();
    let page = page.page(&pool, caller.tenant, Some(job)).await?;
    Ok(actix_web::web::Json(page))
}

/// What a person says to a call.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveApproval {
    /// Whether the call may run.
    approved: bool,
    /// Why, or what to do instead; the model reads it if the call is denied.
    #[schema(max_length = 2000)]
    reason: Option<String>,
}

/// Allows or denies a call that waits. The job goes on when all its calls that wait are answered.
///
/// The first answer counts; after it, and after the approval has expired or the job was cancelled, there is
/// nothing left to answer.
#[utoipa::path(tag = "approvals", request_body(content = ResolveApproval, example = json!({"approved": false, "reason": "Use the copy in /workspace."})),
    params(
        ("job_id" = JobId, Path, description = "The job"),
        ("approval_id" = ApprovalId, Path, description = "The approval"),
    ),
    responses(
        (status = 200, description = "The approval, answered", body = Approval),
        (status = 409, description = "It has been answered, or has ended without an answer", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs/{job_id}/approvals/{approval_id}")]
pub(crate) async fn resolve_approval(
    caller: Caller,
    pool: Data<Pool>,
    doorbell: Data<Doorbell>,
    path: Path<(JobId, ApprovalId)>,
    body: Json<ResolveApproval>,
) -> Result<actix_web::web::Json<Approval>, ApiError> {
    let (job, id) = path.into_inner();
    let Json(body) = body;
    let reason = body.reason.filter(|reason| !reason.trim().is_empty());
    let chars = reason.iter().flat_map(|reason| reason.chars()).count();
    if chars > MAX_REASON_CHARS {
        let detail = format!("must have at most {MAX_REASON_CHARS} characters");
        return Err(ApiError::field("/reason", detail));
    }
    let answer = Answer {
        status: if body.approved {
            ApprovalStatus::Approved
        } else {
            ApprovalStatus::Denied
        },
        reason,
        by: Some(caller.name),
    };
    let mut transaction = pool.begin().await?;
    // Who holds the run decides: answers, the expiry and a cancellation come one after another.
    let run = db::run::lock(&mut transaction, caller.tenant, job).await?;
    let approval = db::approval::get(&mut *transaction, caller.tenant, job, id).await?;
    let approval = approval.ok_or(ApiError::NotFound("approval"))?;
    let (Some(run), ApprovalStatus::Pending) = (run, approval.status) else {
        return Err(ended(&approval));
    };
    let pending = db::approval::list_pending(&mut transaction, &run).await?;
    let its_answer = |it: &Approval| (it.id == id).then(|| answer.clone());
    let goes_on = db::approval::answer(&mut transaction, &run, &pending, its_answer).await?;
    let answered = db::approval::get(&mut *transaction, caller.tenant, job, id).await?;
    transaction.commit().await?;
    if goes_on {
        doorbell.ring();
    }
    answered
        .map(actix_web::web::Json)
        .ok_or(ApiError::NotFound("approval"))
}

fn ended(approval: &Approval) -> ApiError {
    let how = match approval.status {
        ApprovalStatus::Approved => "it was approved before",
        ApprovalStatus::Denied => "it was denied before",
        ApprovalStatus::Expired => "nobody answered in time, so it counts as denied",
        ApprovalStatus::Cancelled | ApprovalStatus::Pending => "the job has ended",
    };
    ApiError::Conflict {
        code: "approval_resolved",
        detail: format!("there is nothing left to answer: {how}"),
    }
}
