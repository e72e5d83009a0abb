//! The secrets of webhooks: stored encrypted, opened to sign.

use shared::db::webhook_secret::{self, SealedWebhookSecret};
use shared::db::{self, Pool};
use shared::id::{TenantId, WebhookId};
use shared::secret::{MasterKeys, OpenError};
use shared::webhook::WebhookSecret;
use uuid::Uuid;

/// A new secret, and how it is stored: for a webhook, or for the webhooks of the tenant's jobs.
pub(crate) fn generate(
    keys: &MasterKeys,
    tenant: TenantId,
    webhook: Option<WebhookId>,
) -> (WebhookSecret, SealedWebhookSecret) {
    let (id, secret) = (Uuid::from_u128(rand::random()), WebhookSecret::generate());
    let sealed = SealedWebhookSecret {
        id,
        tenant,
        webhook,
        sealed: keys.seal_webhook(tenant, id, &secret),
    };
    (secret, sealed)
}

/// Decrypts a stored secret.
pub(crate) fn open(
    keys: &MasterKeys,
    stored: &SealedWebhookSecret,
) -> Result<WebhookSecret, OpenError> {
    keys.open_webhook(stored.tenant, stored.id, &stored.sealed)
}

/// The current secret of the webhooks of the tenant's jobs, which is made when it is first needed.
pub(crate) async fn get_or_make_default(
    pool: &Pool,
    keys: &MasterKeys,
    tenant: TenantId,
) -> db::Result<SealedWebhookSecret> {
    if let Some(found) = webhook_secret::get_default(pool, tenant).await? {
        return Ok(found);
    }
    let (_, new) = generate(keys, tenant, None);
    webhook_secret::insert(pool, &new).await?;
    // Another request may have been first.
    let stored = webhook_secret::get_default(pool, tenant).await?;
    Ok(stored.unwrap_or(new))
}
