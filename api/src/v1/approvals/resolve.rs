//! Approval and denial of tool calls.

use actix_web::post;
use actix_web::web::{Data, Json as JsonResponse, Path};
use serde::Deserialize;
use shared::approval::{Answer, Approval};
use shared::db::{self, DueNotifications, Notifier, Pool};
use shared::event::ApprovalStatus;
use shared::id::ApprovalId;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::body::Json;
use crate::problem::{ApiError, ErrorCode, Problem};

/// The maximum length of a reason.
const MAX_REASON_CHARS: usize = 2000;

/// A decision about an approval.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ResolveApproval {
    /// The decision.
    decision: Decision,
    /// The reason, or what to do instead, at most 2,000 characters. If the call is denied, the model receives the
    /// reason.
    #[schema(max_length = 2000)]
    reason: Option<String>,
}

/// A decision about a tool call.
#[derive(Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Decision {
    /// The call runs.
    Approve,
    /// The call does not run. The model receives the denial with its reason.
    Deny,
}

impl From<Decision> for ApprovalStatus {
    fn from(decision: Decision) -> Self {
        match decision {
            Decision::Approve => Self::Approved,
            Decision::Deny => Self::Denied,
        }
    }
}

/// Approves or denies a tool call.
///
/// The job continues when all its pending approvals are decided. The first decision counts. Later decisions, and
/// decisions after the approval expired or the job was cancelled, are refused with 409.
#[utoipa::path(tag = "approvals",
    request_body(content = ResolveApproval, example = json!({"decision": "deny", "reason": "Use the copy in /workspace."})),
    params(("approval_id" = ApprovalId, Path, description = "The approval")),
    responses(
        (status = 200, description = "The approval with its answer", body = Approval),
        (status = 409, description = "The approval is already resolved, or its job has ended", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/approvals/{approval_id}")]
pub(crate) async fn resolve_approval(
    caller: Caller,
    pool: Data<Pool>,
    notifier: Data<Notifier>,
    id: Path<ApprovalId>,
    body: Json<ResolveApproval>,
) -> Result<JsonResponse<Approval>, ApiError> {
    let (id, absent) = (*id, || ApiError::NotFound("approval"));
    let answer = body.0.into_answer(&caller)?;
    let asked = db::approval::get(&**pool, caller.tenant, id).await?;
    let job = asked.ok_or_else(absent)?.job_id;
    let mut transaction = pool.begin().await?;
    // Answering, expiring and cancelling all lock the run row, so the first one wins.
    let run = db::run::lock(&mut transaction, caller.tenant, job).await?;
    let approval = db::approval::get(&mut *transaction, caller.tenant, id).await?;
    let approval = approval.ok_or_else(absent)?;
    let (Some(run), ApprovalStatus::Pending) = (run, approval.status) else {
        return Err(already_resolved(&approval));
    };
    let pending = db::approval::list_pending(&mut transaction, &run).await?;
    let its_answer = |it: &Approval| (it.id == id).then(|| answer.clone());
    let continues = db::approval::answer(&mut transaction, &run, &pending, its_answer).await?;
    let answered = db::approval::get(&mut *transaction, caller.tenant, id).await?;
    transaction.commit().await?;
    if continues {
        notifier.notify(DueNotifications::work());
    }
    answered.map(JsonResponse).ok_or_else(absent)
}

impl ResolveApproval {
    fn into_answer(self, caller: &Caller) -> Result<Answer, ApiError> {
        let reason = self.reason.filter(|reason| !reason.trim().is_empty());
        let chars = reason.iter().flat_map(|reason| reason.chars()).count();
        if chars > MAX_REASON_CHARS {
            let detail = format!("must have at most {MAX_REASON_CHARS} characters");
            return Err(ApiError::field("/reason", detail));
        }
        Ok(Answer {
            status: self.decision.into(),
            reason,
            resolved_by: Some(caller.name.clone()),
        })
    }
}

fn already_resolved(approval: &Approval) -> ApiError {
    let how = match approval.status {
        ApprovalStatus::Approved => "it was already approved",
        ApprovalStatus::Denied => "it was already denied",
        ApprovalStatus::Expired => "it expired without an answer and counts as denied",
        ApprovalStatus::Cancelled | ApprovalStatus::Pending => "the job has ended",
    };
    ApiError::Conflict {
        code: ErrorCode::ApprovalResolved,
        detail: format!("this approval can no longer be answered: {how}"),
    }
}
