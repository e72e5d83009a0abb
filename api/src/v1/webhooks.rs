//! `/v1/webhooks`

mod deliveries;
mod recover;
mod request;
mod secret;
mod store;
mod test;
mod view;

pub(crate) use deliveries::{
    DeliveryPage, ListDeliveries, list_deliveries, redeliver, start_again,
};
pub(crate) use recover::recover_webhook;
pub(crate) use request::{JobWebhookRequest, check_job_webhook};
pub(crate) use secret::{
    get_default_webhook_secret, rotate_default_webhook_secret, rotate_webhook_secret,
};
pub(crate) use store::{create_webhook, update_webhook};
pub(crate) use test::test_webhook;

use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, delete, get};
use serde::Deserialize;
use shared::db::webhook::StoredWebhook;
use shared::db::{self, Pool};
use shared::id::{TenantId, WebhookId};
use shared::webhook::WebhookStatus;
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::query::Query;
use view::WebhookView;

type WebhookPage = Page<WebhookView>;

/// Wakes the dispatchers. An error is only logged, because they also look for deliveries every few seconds.
async fn notify(pool: &Pool) {
    if let Err(error) = db::webhook_delivery::notify(pool).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(error, "cannot notify the dispatchers of webhooks");
    }
}

/// Query parameters for a list of webhooks.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListWebhooks {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists webhooks, the newest first, without their secrets.
#[utoipa::path(tag = "webhooks", params(ListWebhooks), responses(
    (status = 200, description = "A page of webhooks", body = WebhookPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/webhooks")]
pub(crate) async fn list_webhooks(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListWebhooks>,
) -> Result<Json<WebhookPage>, ApiError> {
    let ListWebhooks { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before = cursor::parse(cursor.as_deref())?;
    let found = db::webhook::list(&**pool, caller.tenant, before, limit + 1).await?;
    let page = Page::of(found, limit, |it| it.id.to_string());
    Ok(Json(Page {
        data: page.data.into_iter().map(WebhookView::from).collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Returns a webhook, without its secret.
#[utoipa::path(tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 200, description = "The webhook", body = WebhookView),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/webhooks/{webhook_id}")]
pub(crate) async fn get_webhook(
    caller: Caller,
    pool: Data<Pool>,
    webhook: Path<WebhookId>,
) -> Result<Json<WebhookView>, ApiError> {
    let stored = find(&pool, caller.tenant, *webhook).await?;
    Ok(Json(stored.into()))
}

/// Deletes a webhook with its deliveries.
///
/// Attempts in progress are not interrupted.
#[utoipa::path(tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 204, description = "Deleted"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[delete("/webhooks/{webhook_id}")]
pub(crate) async fn delete_webhook(
    caller: Caller,
    pool: Data<Pool>,
    webhook: Path<WebhookId>,
) -> Result<HttpResponse, ApiError> {
    if db::webhook::delete(&**pool, caller.tenant, *webhook).await? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(ApiError::NotFound("webhook"))
    }
}

async fn find(pool: &Pool, tenant: TenantId, id: WebhookId) -> Result<StoredWebhook, ApiError> {
    let stored = db::webhook::get(pool, tenant, id).await?;
    stored.ok_or(ApiError::NotFound("webhook"))
}

/// Returns an error if the webhook is disabled and delivers nothing until it is active again.
fn check_enabled(webhook: &StoredWebhook) -> Result<(), ApiError> {
    if webhook.status != WebhookStatus::Disabled {
        return Ok(());
    }
    Err(ApiError::Conflict {
        code: ErrorCode::WebhookDisabled,
        detail: "this webhook is disabled; set its `status` to `active` first".to_owned(),
    })
}
