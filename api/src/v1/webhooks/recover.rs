//! `POST /v1/webhooks/{webhook_id}/recover`.

use actix_web::post;
use actix_web::web::{Data, Json as JsonResponse, Path};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::Pool;
use shared::db::webhook_delivery as delivery;
use shared::id::WebhookId;
use utoipa::ToSchema;

use super::{check_enabled, find, notify};
use crate::auth::Caller;
use crate::body::Json;
use crate::problem::{ApiError, Problem};
use crate::v1::jobs::instant;

/// The request to recover failed deliveries.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecoverWebhook {
    /// Recovers deliveries that were recorded at this time or later.
    #[serde(default, deserialize_with = "instant")]
    #[schema(value_type = DateTime<Utc>)]
    since: Option<DateTime<Utc>>,
}

/// The result of a recovery.
#[derive(Serialize, ToSchema)]
pub(crate) struct RecoveredDeliveries {
    /// The number of deliveries that start again.
    recovered: u64,
}

/// Redelivers all failed events since a time.
///
/// The deliveries are due immediately, with all their attempts. Successful deliveries are not repeated.
#[utoipa::path(tag = "webhooks",
    request_body(content = RecoverWebhook, example = json!({"since": "2027-01-01T00:00:00Z"})),
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 200, description = "How many deliveries start again", body = RecoveredDeliveries),
        (status = 409, description = "The webhook is disabled", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/webhooks/{webhook_id}/recover")]
pub(crate) async fn recover_webhook(
    caller: Caller,
    webhook: Path<WebhookId>,
    body: Json<RecoverWebhook>,
    pool: Data<Pool>,
) -> Result<JsonResponse<RecoveredDeliveries>, ApiError> {
    let Json(RecoverWebhook { since }) = body;
    let since = since.ok_or_else(|| ApiError::field("/since", "is required"))?;
    let webhook = find(&pool, caller.tenant, *webhook).await?;
    check_enabled(&webhook)?;
    let mut recovered = 0;
    // Only deliveries that have failed until now. Deliveries that fail again in the meantime do not prolong this
    // loop.
    let mut last = None;
    loop {
        let mut transaction = pool.begin().await?;
        let batch = delivery::recover(&mut transaction, webhook.id, since, last).await?;
        transaction.commit().await?;
        notify(&pool).await;
        recovered += batch.len() as u64;
        last = batch.into_iter().max();
        if last.is_none() {
            return Ok(JsonResponse(RecoveredDeliveries { recovered }));
        }
    }
}
