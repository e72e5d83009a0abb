//! Creation and change of webhooks.

use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, patch, post};
use shared::db::webhook::MAX_WEBHOOKS;
use shared::db::{self, Pool};
use shared::id::WebhookId;

use super::request::{CreateWebhook, NewWebhookStatus, UpdateWebhook};
use super::view::{CreatedWebhook, WebhookView};
use super::{find, notify};
use crate::auth::Caller;
use crate::body::Json;
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::v1::events;
use crate::v1::secrets::ConfiguredMasterKeys;
use crate::webhook_secret;
use crate::webhook_target::WebhookTargets;

/// Creates a webhook.
///
/// From now on, milestones of jobs are posted to its URL, signed as Standard Webhooks specifies. The response has the
/// signing secret, which cannot be read again. A tenant has at most 20 webhooks.
#[utoipa::path(tag = "webhooks", request_body(content = CreateWebhook, example = json!({
        "url": "https://example.com/hook",
        "events": ["job.completed", "job.failed"],
    })),
    responses(
        (status = 201, description = "The webhook, with its secret", body = CreatedWebhook,
            headers(("Location" = String, description = "The webhook's path"))),
        (status = 409, description = "The tenant has the maximum number of webhooks", body = Problem, content_type = "application/problem+json"),
        (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/webhooks")]
pub(crate) async fn create_webhook(
    caller: Caller,
    keys: ConfiguredMasterKeys,
    body: Json<CreateWebhook>,
    pool: Data<Pool>,
    targets: Data<WebhookTargets>,
) -> Result<HttpResponse, ApiError> {
    let Json(body) = body;
    let mut errors = Vec::new();
    let settings = body.parse(&targets, &mut errors).await;
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    events::open(&pool, caller.tenant).await?;
    let mut transaction = pool.begin().await?;
    let stored = db::webhook::insert(&mut transaction, caller.tenant, &settings).await?;
    let Some(stored) = stored else {
        return Err(ApiError::Conflict {
            code: ErrorCode::TooManyWebhooks,
            detail: format!(
                "this tenant has {MAX_WEBHOOKS} webhooks, the maximum; delete one first"
            ),
        });
    };
    let (secret, sealed) = webhook_secret::generate(&keys.0, caller.tenant, Some(stored.id));
    db::webhook_secret::insert(&mut *transaction, &sealed).await?;
    transaction.commit().await?;
    Ok(HttpResponse::Created()
        .insert_header((LOCATION, format!("/v1/webhooks/{}", stored.id)))
        .json(CreatedWebhook {
            webhook: stored.into(),
            secret: secret.reveal().to_owned(),
        }))
}

/// Changes, pauses or activates a webhook.
///
/// Deliveries of a paused webhook wait. Deliveries of a disabled webhook are dead, and can be recovered when the
/// webhook is active again.
#[utoipa::path(tag = "webhooks", request_body(content = UpdateWebhook, example = json!({"status": "paused"})),
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 200, description = "The webhook", body = WebhookView),
        (status = 409, description = "Another request changed the webhook at the same time", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[patch("/webhooks/{webhook_id}")]
pub(crate) async fn update_webhook(
    caller: Caller,
    webhook: Path<WebhookId>,
    body: Json<UpdateWebhook>,
    pool: Data<Pool>,
    targets: Data<WebhookTargets>,
) -> Result<JsonResponse<WebhookView>, ApiError> {
    let Json(body) = body;
    let status = body.status;
    // The DNS lookup may take long. Therefore it precedes the transaction, which holds a lock.
    let read = find(&pool, caller.tenant, *webhook).await?;
    let mut errors = Vec::new();
    let settings = body.apply(read.settings, &targets, &mut errors).await;
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    let mut transaction = pool.begin().await?;
    let locked = db::webhook::lock(&mut *transaction, caller.tenant, *webhook).await?;
    let locked = locked.ok_or(ApiError::NotFound("webhook"))?;
    if locked.updated_at != read.updated_at {
        return Err(ApiError::Conflict {
            code: ErrorCode::WebhookChanged,
            detail: "another request changed this webhook at the same time; read it, and send the change again".to_owned(),
        });
    }
    db::webhook::update(&mut *transaction, locked.id, &settings).await?;
    match status {
        Some(NewWebhookStatus::Active) => {
            db::webhook::activate(&mut transaction, locked.id).await?;
        }
        Some(NewWebhookStatus::Paused) => {
            db::webhook::pause(&mut *transaction, locked.id).await?;
        }
        None => {}
    }
    transaction.commit().await?;
    if status == Some(NewWebhookStatus::Active) {
        notify(&pool).await;
    }
    let stored = find(&pool, caller.tenant, *webhook).await?;
    Ok(JsonResponse(stored.into()))
}
