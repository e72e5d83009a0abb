//! Deliveries of a webhook, and their redelivery.

use actix_web::web::{Data, Json, Path};
use actix_web::{get, post};
use serde::Deserialize;
use shared::db::Pool;
use shared::db::webhook_delivery::{self as delivery, DeliveryOwner};
use shared::id::{DeliveryId, TenantId, WebhookId};
use shared::webhook::{Delivery, DeliveryStatus};
use utoipa::IntoParams;

use super::{check_enabled, find, notify};
use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

pub(crate) type DeliveryPage = Page<Delivery>;

/// Query parameters for a list of deliveries.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListDeliveries {
    /// Only deliveries with this status.
    status: Option<DeliveryStatus>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

impl ListDeliveries {
    pub(crate) async fn page(
        self,
        pool: &Pool,
        tenant: TenantId,
        owner: DeliveryOwner,
    ) -> Result<DeliveryPage, ApiError> {
        let limit = cursor::limit(self.limit)?;
        let before = cursor::parse(self.cursor.as_deref())?;
        let found = delivery::list(pool, tenant, owner, self.status, before, limit + 1).await?;
        Ok(Page::of(found, limit, |it| it.id.to_string()))
    }
}

/// Lists the deliveries of a webhook, the newest first.
///
/// Deliveries are kept as long as their jobs, and tests for a week.
#[utoipa::path(tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook"), ListDeliveries),
    responses(
        (status = 200, description = "A page of deliveries", body = DeliveryPage),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/webhooks/{webhook_id}/deliveries")]
pub(crate) async fn list_deliveries(
    caller: Caller,
    webhook: Path<WebhookId>,
    pool: Data<Pool>,
    query: Query<ListDeliveries>,
) -> Result<Json<DeliveryPage>, ApiError> {
    let webhook = find(&pool, caller.tenant, *webhook).await?.id;
    let owner = DeliveryOwner::Webhook(webhook);
    let page = query.into_inner().page(&pool, caller.tenant, owner).await?;
    Ok(Json(page))
}

/// Redelivers an event.
///
/// The delivery is due immediately, with all its attempts, whatever its status is. It keeps its `webhook-id`.
#[utoipa::path(tag = "webhooks",
    params(
        ("webhook_id" = WebhookId, Path, description = "The webhook"),
        ("delivery_id" = DeliveryId, Path, description = "The delivery"),
    ),
    responses(
        (status = 200, description = "The delivery, which is due now", body = Delivery),
        (status = 409, description = "The webhook is disabled", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver")]
pub(crate) async fn redeliver(
    caller: Caller,
    path: Path<(WebhookId, DeliveryId)>,
    pool: Data<Pool>,
) -> Result<Json<Delivery>, ApiError> {
    let (webhook, id) = path.into_inner();
    let webhook = find(&pool, caller.tenant, webhook).await?;
    check_enabled(&webhook)?;
    let owner = DeliveryOwner::Webhook(webhook.id);
    start_again(&pool, caller.tenant, owner, id).await.map(Json)
}

/// Restarts a delivery.
pub(crate) async fn start_again(
    pool: &Pool,
    tenant: TenantId,
    owner: DeliveryOwner,
    id: DeliveryId,
) -> Result<Delivery, ApiError> {
    let not_found = || ApiError::NotFound("delivery");
    let found = delivery::get(pool, tenant, owner, id).await?;
    let id = found.ok_or_else(not_found)?.id;
    let mut transaction = pool.begin().await?;
    delivery::redeliver(&mut transaction, id).await?;
    transaction.commit().await?;
    // Read before the notification, because a dispatcher may start the attempt immediately.
    let due = delivery::get(pool, tenant, owner, id).await?;
    notify(pool).await;
    due.ok_or_else(not_found)
}
