//! API keys.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use crate::id::{KeyId, TenantId};

/// A permission of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema, sqlx::Type)]
#[serde(rename_all = "snake_case")]
#[sqlx(type_name = "key_scope", rename_all = "snake_case")]
pub enum Scope {
    /// Jobs, assets and skills of the key's tenant.
    Jobs,
    /// Keys, tenants and workers, of everyone.
    Admin,
    /// `/metrics` and `GET /v1/queue`, and nothing else.
    Metrics,
}

/// A stored key: all but the key itself, which only its owner has.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct ApiKey {
    /// Names the key where it is listed or revoked.
    pub id: KeyId,
    /// The tenant of the key.
    pub tenant_id: TenantId,
    /// The name that its owner gave it.
    pub name: String,
    /// The last four characters of the key.
    #[schema(example = "x4Qz")]
    pub hint: String,
    /// The scopes of the key.
    pub scopes: Vec<Scope>,
    /// When it was made.
    pub created_at: DateTime<Utc>,
}

/// The key itself, `sk_…`. It has no `Debug`, so that it cannot end up in a log.
pub struct SecretKey(String);

impl SecretKey {
    /// A new key with 256 random bits.
    pub fn generate() -> Self {
        Self(format!("sk_{}", random_token()))
    }

    /// The key for its owner's eyes.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// The last four characters.
    pub fn hint(&self) -> &str {
        &self.0[self.0.len() - 4..]
    }
}

/// Text with 256 random bits.
pub fn random_token() -> String {
    URL_SAFE_NO_PAD.encode(rand::random::<[u8; 32]>())
}

/// A key as the database has it: its SHA-256.
pub type KeyHash = [u8; 32];

/// The hash of a key.
pub fn hash(key: &str) -> KeyHash {
    Sha256::digest(key).into()
}
