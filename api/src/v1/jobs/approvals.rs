//! `/v1/jobs/{job_id}/approvals`

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use shared::db::Pool;
use shared::id::JobId;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};
use crate::query::Query;
use crate::v1::approvals::{ApprovalPage, ListApprovals};

/// Lists the approvals of a job, the newest first.
#[utoipa::path(tag = "approvals",
    params(("job_id" = JobId, Path, description = "The job"), ListApprovals),
    responses(
        (status = 200, description = "A page of approvals", body = ApprovalPage),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/jobs/{job_id}/approvals")]
pub(crate) async fn list_job_approvals(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
    query: Query<ListApprovals>,
) -> Result<Json<ApprovalPage>, ApiError> {
    let job = find(&pool, caller.tenant, *job).await?.id;
    let page = query.into_inner();
    page.page(&pool, caller.tenant, Some(job)).await.map(Json)
}
