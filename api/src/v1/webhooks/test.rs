//! `POST /v1/webhooks/{webhook_id}/test`.

use std::time::Duration;

use actix_web::post;
use actix_web::web::{Data, Json, Path};
use shared::db::webhook_delivery::{self as delivery, DeliveryOwner};
use shared::db::{self, Pool};
use shared::id::WebhookId;
use shared::webhook::Delivery;
use tokio::time::Instant;

use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// The maximum wait for the result: the deadline of an attempt, plus some time until the attempt starts.
const TIMEOUT: Duration = Duration::from_secs(20);
/// The pauses between two reads of the delivery.
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Sends a test event to a webhook, and returns the delivery with the result.
///
/// The event has the type `webhook.test` and is sent like all other events, with one attempt. A test also works while
/// the webhook is paused or disabled, and does not change its status. If no worker makes the attempt within 20
/// seconds, the delivery is returned as `pending`.
#[utoipa::path(tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 200, description = "The delivery", body = Delivery),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/webhooks/{webhook_id}/test")]
pub(crate) async fn test_webhook(
    caller: Caller,
    webhook: Path<WebhookId>,
    pool: Data<Pool>,
) -> Result<Json<Delivery>, ApiError> {
    let not_found = || ApiError::NotFound("webhook");
    let mut transaction = pool.begin().await?;
    let locked = db::webhook::lock(&mut *transaction, caller.tenant, *webhook).await?;
    let webhook = locked.ok_or_else(not_found)?.id;
    let id = delivery::insert_test(&mut transaction, webhook).await?;
    transaction.commit().await?;
    delivery::notify(&**pool).await?;
    let (begun_at, mut pause) = (Instant::now(), FIRST_PAUSE);
    let owner = DeliveryOwner::Webhook(webhook);
    loop {
        tokio::time::sleep(pause).await;
        pause = LONGEST_PAUSE.min(pause * 2);
        let found = delivery::get(&**pool, caller.tenant, owner, id).await?;
        let found = found.ok_or_else(not_found)?;
        if found.last.is_some() || begun_at.elapsed() > TIMEOUT {
            return Ok(Json(found));
        }
    }
}
