//! Secrets of webhooks.

use actix_web::web::{Data, Json, Path};
use actix_web::{get, post};
use chrono::{DateTime, Utc};
use serde::Serialize;
use shared::db::{self, Pool};
use shared::id::{TenantId, WebhookId};
use shared::secret::MasterKeys;
use utoipa::ToSchema;

use super::find;
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};
use crate::v1::secrets::ConfiguredMasterKeys;
use crate::webhook_secret;

/// A secret that signs webhook deliveries.
#[derive(Serialize, ToSchema)]
pub(crate) struct RevealedWebhookSecret {
    /// The secret.
    #[schema(example = "whsec_…")]
    secret: String,
    /// When the previous secret stops signing deliveries after a rotation. Null if no previous secret signs.
    #[schema(required)]
    previous_expires_at: Option<DateTime<Utc>>,
}

/// Replaces the secret of a webhook.
///
/// For 24 hours, deliveries have a signature of each of the two secrets.
#[utoipa::path(tag = "webhooks",
    params(("webhook_id" = WebhookId, Path, description = "The webhook")),
    responses(
        (status = 200, description = "The new secret, which cannot be read again", body = RevealedWebhookSecret),
        (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[post("/webhooks/{webhook_id}/rotate")]
pub(crate) async fn rotate_webhook_secret(
    caller: Caller,
    keys: ConfiguredMasterKeys,
    webhook: Path<WebhookId>,
    pool: Data<Pool>,
) -> Result<Json<RevealedWebhookSecret>, ApiError> {
    let webhook = find(&pool, caller.tenant, *webhook).await?.id;
    rotate(&pool, &keys.0, caller.tenant, Some(webhook)).await
}

/// Returns the tenant's default secret, which signs the webhooks of jobs.
///
/// The secret is created when it is first read or needed.
#[utoipa::path(tag = "webhooks", responses(
    (status = 200, description = "The secret", body = RevealedWebhookSecret),
    (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/webhooks/default-secret")]
pub(crate) async fn get_default_webhook_secret(
    caller: Caller,
    keys: ConfiguredMasterKeys,
    pool: Data<Pool>,
) -> Result<Json<RevealedWebhookSecret>, ApiError> {
    let stored = webhook_secret::get_or_make_default(&pool, &keys.0, caller.tenant).await?;
    let secret = webhook_secret::open(&keys.0, &stored)
        .map_err(|error| ApiError::Internal(anyhow::Error::new(error)))?;
    Ok(Json(RevealedWebhookSecret {
        secret: secret.reveal().to_owned(),
        previous_expires_at: db::webhook_secret::get_previous_expiry(&**pool, caller.tenant)
            .await?,
    }))
}

/// Replaces the tenant's default secret, which signs the webhooks of jobs.
///
/// For 24 hours, deliveries have a signature of each of the two secrets.
#[utoipa::path(tag = "webhooks", responses(
    (status = 200, description = "The new secret", body = RevealedWebhookSecret),
    (status = 503, description = "The service has no master key", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/webhooks/default-secret/rotate")]
pub(crate) async fn rotate_default_webhook_secret(
    caller: Caller,
    keys: ConfiguredMasterKeys,
    pool: Data<Pool>,
) -> Result<Json<RevealedWebhookSecret>, ApiError> {
    rotate(&pool, &keys.0, caller.tenant, None).await
}

async fn rotate(
    pool: &Pool,
    keys: &MasterKeys,
    tenant: TenantId,
    webhook: Option<WebhookId>,
) -> Result<Json<RevealedWebhookSecret>, ApiError> {
    let (secret, sealed) = webhook_secret::generate(keys, tenant, webhook);
    let mut transaction = pool.begin().await?;
    let previous_expires_at = db::webhook_secret::rotate(&mut transaction, &sealed).await?;
    transaction.commit().await?;
    Ok(Json(RevealedWebhookSecret {
        secret: secret.reveal().to_owned(),
        previous_expires_at,
    }))
}
