//! `/v1/jobs/{job_id}/deliveries`: the deliveries of a job's own webhook.

use actix_web::web::{Data, Json, Path};
use actix_web::{get, post};
use shared::db::Pool;
use shared::db::webhook_delivery::DeliveryOwner;
use shared::id::{DeliveryId, JobId};
use shared::webhook::Delivery;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};
use crate::query::Query;
use crate::v1::webhooks::{DeliveryPage, ListDeliveries, start_again};

/// Lists the deliveries of a job's own webhook, the newest first.
#[utoipa::path(tag = "webhooks",
    params(("job_id" = JobId, Path, description = "The job"), ListDeliveries),
    responses(
        (status = 200, description = "A page of deliveries", body = DeliveryPage),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/jobs/{job_id}/deliveries")]
pub(crate) async fn list_job_deliveries(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
    query: Query<ListDeliveries>,
) -> Result<Json<DeliveryPage>, ApiError> {
    let owner = DeliveryOwner::Job(find(&pool, caller.tenant, *job).await?.id);
    let page = query.into_inner().page(&pool, caller.tenant, owner).await?;
    Ok(Json(page))
}

/// Redelivers an event of a job's own webhook.
///
/// The delivery is due immediately, with all its attempts. It keeps its `webhook-id`.
#[utoipa::path(tag = "webhooks",
    params(
        ("job_id" = JobId, Path, description = "The job"),
        ("delivery_id" = DeliveryId, Path, description = "The delivery"),
    ),
    responses(
        (status = 200, description = "The delivery, which is due now", body = Delivery),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/jobs/{job_id}/deliveries/{delivery_id}/redeliver")]
pub(crate) async fn redeliver_of_job(
    caller: Caller,
    path: Path<(JobId, DeliveryId)>,
    pool: Data<Pool>,
) -> Result<Json<Delivery>, ApiError> {
    let (job, id) = path.into_inner();
    let owner = DeliveryOwner::Job(find(&pool, caller.tenant, job).await?.id);
    start_again(&pool, caller.tenant, owner, id).await.map(Json)
}
