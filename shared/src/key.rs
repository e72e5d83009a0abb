//! API keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::id::{KeyId, TenantId};

/// A permission of an API key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "key_scope", rename_all = "snake_case")]
pub enum Scope {
    /// Access to jobs, assets and skills of the key's tenant.
    Jobs,
    /// Access to keys, tenants and workers, for all tenants.
    Admin,
    /// Access to `/metrics` and `GET /v1/queue` only.
    Metrics,
}

/// A stored API key, without its secret.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    /// The identifier of the key, by which it is listed and revoked.
    pub id: KeyId,
    /// The tenant that owns the key.
    pub tenant_id: TenantId,
    /// The name that the owner chose.
    pub name: String,
    /// The last four characters of the key.
    #[schema(example = "x4Qz")]
    pub hint: String,
    /// The scopes of the key.
    pub scopes: Vec<Scope>,
    /// The creation time.
    pub created_at: DateTime<Utc>,
}

/// The secret of an API key, `sk_…`. It has no `Debug` implementation, so that it cannot appear in a log.
pub struct SecretKey(String);

impl SecretKey {
    /// Generates a new key with 256 random bits.
    pub fn generate() -> Self {
        Self(format!("sk_{}", random_token()))
    }

    /// Returns the key in plain text, to show it to its owner.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns the last four characters of the key.
    pub fn hint(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

/// Generates a text with 256 random bits.
pub fn random_token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

/// The SHA-256 of an API key, as stored in the database.
pub type KeyHash = [u8; 32];

/// Computes the hash of a key.
pub fn hash(key: &str) -> KeyHash {
    Sha256::digest(key).into()
}
