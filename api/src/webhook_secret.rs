//! Webhook secrets, which are stored encrypted and decrypted for signing.

use shared::db::webhook_secret::{self, SealedWebhookSecret};
use shared::db::{self, Pool};
use shared::id::{TenantId, WebhookId};
use shared::secret::{MasterKeys, OpenError};
use shared::webhook::WebhookSecret;
use uuid::Uuid;

/// Generates a secret and its encrypted form. It belongs to a webhook, or to the webhooks declared in jobs of the
/// tenant.
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

/// Returns the current secret for the webhooks declared in jobs of the tenant. It is created on first use.
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
    // Another request may have inserted its secret first.
    let stored = webhook_secret::get_default(pool, tenant).await?;
    Ok(stored.unwrap_or(new))
}
