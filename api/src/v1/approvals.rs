//! `/v1/approvals`

mod resolve;

pub(crate) use resolve::resolve_approval;

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use serde::Deserialize;
use shared::approval::Approval;
use shared::db::{self, Pool};
use shared::event::ApprovalStatus;
use shared::id::{ApprovalId, JobId, TenantId};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

pub(crate) type ApprovalPage = Page<Approval>;

/// Query parameters for a list of approvals.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListApprovals {
    /// Only approvals with this status. `pending` approvals wait for a decision.
    status: Option<ApprovalStatus>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the approvals of all jobs, the newest first.
#[utoipa::path(tag = "approvals", params(ListApprovals), responses(
    (status = 200, description = "A page of approvals", body = ApprovalPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/approvals")]
pub(crate) async fn list_approvals(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListApprovals>,
) -> Result<Json<ApprovalPage>, ApiError> {
    let page = query.into_inner().page(&pool, caller.tenant, None).await?;
    Ok(Json(page))
}

/// Returns an approval.
#[utoipa::path(tag = "approvals", params(("approval_id" = ApprovalId, Path, description = "The approval")), responses(
    (status = 200, description = "The approval", body = Approval),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/approvals/{approval_id}")]
pub(crate) async fn get_approval(
    caller: Caller,
    pool: Data<Pool>,
    id: Path<ApprovalId>,
) -> Result<Json<Approval>, ApiError> {
    let approval = db::approval::get(&**pool, caller.tenant, *id).await?;
    approval.map(Json).ok_or(ApiError::NotFound("approval"))
}

impl ListApprovals {
    /// Returns a page of the approvals of all jobs, or of one job.
    pub(crate) async fn page(
        self,
        pool: &Pool,
        tenant: TenantId,
        job: Option<JobId>,
    ) -> Result<ApprovalPage, ApiError> {
        let limit = cursor::limit(self.limit)?;
        let before = cursor::parse(self.cursor.as_deref())?;
        let filter = db::approval::ApprovalFilter {
            id: None,
            job,
            status: self.status,
        };
        let approvals = db::approval::list(pool, tenant, &filter, before, limit + 1).await?;
        Ok(Page::of(approvals, limit, |approval| {
            approval.id.to_string()
        }))
    }
}
