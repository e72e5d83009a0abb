//! The secrets that sign claimed deliveries.

use std::collections::HashMap;
use std::sync::Arc;

use shared::db::webhook_delivery::ClaimedDelivery;
use shared::db::{self, DedicatedConnection, Pool};
use shared::id::{TenantId, WebhookId};
use shared::secret::MasterKeys;
use shared::webhook::WebhookSecret;

use crate::webhook_secret;

/// The owner of the secrets that sign a delivery.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum SecretOwner {
    Webhook(WebhookId),
    /// The webhooks declared in jobs of the tenant.
    Jobs(TenantId),
}

impl SecretOwner {
    fn of(delivery: &ClaimedDelivery) -> Self {
        if delivery.is_of_jobs {
            Self::Jobs(delivery.tenant)
        } else {
            Self::Webhook(delivery.webhook)
        }
    }
}

/// The secrets of a delivery, current one first, or an error message.
pub(super) type Signers = Result<Arc<[WebhookSecret]>, String>;

/// Returns the deliveries with their signing secrets.
pub(super) async fn with_signers(
    db: &mut DedicatedConnection,
    pool: &Pool,
    keys: &MasterKeys,
    claimed: Vec<ClaimedDelivery>,
) -> db::Result<Vec<(ClaimedDelivery, Signers)>> {
    let (mut webhooks, mut tenants) = (Vec::new(), Vec::new());
    for delivery in &claimed {
        match SecretOwner::of(delivery) {
            SecretOwner::Webhook(id) => webhooks.push(id.0),
            SecretOwner::Jobs(tenant) => tenants.push(tenant.0),
        }
    }
    let mut stored = db::webhook_secret::list_signing(db.get().await?, &webhooks, &tenants).await?;
    for tenant in tenants {
        let has_secret = |it: &db::webhook_secret::SealedWebhookSecret| {
            it.tenant.0 == tenant && it.webhook.is_none()
        };
        if !stored.iter().any(has_secret) {
            let tenant = TenantId(tenant);
            stored.push(webhook_secret::get_or_make_default(pool, keys, tenant).await?);
        }
    }
    let mut opened: HashMap<SecretOwner, Result<Vec<_>, String>> = HashMap::new();
    for secret in &stored {
        let owner = match secret.webhook {
            Some(id) => SecretOwner::Webhook(id),
            None => SecretOwner::Jobs(secret.tenant),
        };
        let signers = opened.entry(owner).or_insert_with(|| Ok(Vec::new()));
        match webhook_secret::open(keys, secret) {
            Ok(secret) => {
                if let Ok(signers) = signers {
                    signers.push(secret);
                }
            }
            Err(error) => *signers = Err(format!("the signing secret cannot be read: {error}")),
        }
    }
    let opened: HashMap<SecretOwner, Signers> = opened
        .into_iter()
        .map(|(owner, signers)| (owner, signers.map(Arc::from)))
        .collect();
    let signed = claimed.into_iter().map(|delivery| {
        let signers = opened.get(&SecretOwner::of(&delivery)).cloned();
        let signers = signers.unwrap_or_else(|| Err("there is no signing secret".to_owned()));
        (delivery, signers)
    });
    Ok(signed.collect())
}
