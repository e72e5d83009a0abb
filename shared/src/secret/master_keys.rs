//! Master keys, which encrypt secrets.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use sha2::{Digest, Sha256};
use uuid::Uuid;

use super::{SecretName, SecretValue};
use crate::id::TenantId;
use crate::webhook::WebhookSecret;

const KEY_BYTES: usize = 32;
/// Bytes of a key's SHA-256 that name the key.
const ID_BYTES: usize = 8;
/// Separates these ciphertexts from whatever else a key may be used for one day.
const PURPOSE: &[u8] = b"skillet secret 1";
/// The same for the secrets of webhooks.
const WEBHOOK_PURPOSE: &[u8] = b"skillet webhook 1";

/// The keys under which secrets are stored: a current one, which encrypts, and earlier ones, which still open.
#[derive(Clone)]
pub struct MasterKeys {
    current: MasterKey,
    earlier: Vec<MasterKey>,
}

#[derive(Clone)]
struct MasterKey {
    id: String,
    key: LessSafeKey,
}

/// A secret as it is stored.
pub struct SealedValue {
    /// The value, encrypted and authenticated.
    pub ciphertext: Vec<u8>,
    /// Used for this ciphertext only.
    pub nonce: Vec<u8>,
    /// The key that opens it.
    pub key_id: String,
}

/// A text is no master key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a master key must be {KEY_BYTES} bytes in base64; `openssl rand -base64 {KEY_BYTES}` makes one"
)]
pub struct MasterKeyError;

/// A stored secret cannot be opened.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// Its key is not among ours.
    #[error("it was encrypted under the master key {key_id}, which is not configured here")]
    UnknownKey {
        /// The key's name.
        key_id: String,
    },
    /// The row is not as it was written, or was written for another tenant or name.
    #[error("what is stored is not what was encrypted under its name")]
    Forged,
}

impl MasterKeys {
    /// Reads keys, each of them 32 bytes in base64.
    pub fn parse<'a>(
        current: &str,
        earlier: impl IntoIterator<Item = &'a str>,
    ) -> Result<Self, MasterKeyError> {
        Ok(Self {
            current: MasterKey::parse(current)?,
            earlier: earlier
                .into_iter()
                .map(MasterKey::parse)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Names the key that encrypts.
    pub fn current_id(&self) -> &str {
        &self.current.id
    }

    /// Encrypts a value for the secret of that tenant and name, and no other.
    pub fn seal(&self, tenant: TenantId, name: &SecretName, value: &SecretValue) -> SealedValue {
        let place = place(tenant, name, &self.current.id);
        self.seal_at(place, value.expose())
    }

    /// Decrypts what was stored for the secret of that tenant and name.
    pub fn open(
        &self,
        tenant: TenantId,
        name: &SecretName,
        sealed: &SealedValue,
    ) -> Result<SecretValue, OpenError> {
        let place = place(tenant, name, &sealed.key_id);
        self.open_at(place, sealed).map(SecretValue::unchecked)
    }

    /// Encrypts the secret of a webhook for the row of that tenant and id, and no other.
    pub fn seal_webhook(&self, tenant: TenantId, id: Uuid, secret: &WebhookSecret) -> SealedValue {
        let place = webhook_place(tenant, id, &self.current.id);
        self.seal_at(place, secret.reveal())
    }

    /// Decrypts the secret of a webhook that was stored in the row of that tenant and id.
    pub fn open_webhook(
        &self,
        tenant: TenantId,
        id: Uuid,
        sealed: &SealedValue,
    ) -> Result<WebhookSecret, OpenError> {
        let place = webhook_place(tenant, id, &sealed.key_id);
        let text = self.open_at(place, sealed)?;
        WebhookSecret::parse(&text).map_err(|_| OpenError::Forged)
    }

    fn seal_at(&self, place: Vec<u8>, text: &str) -> SealedValue {
        let MasterKey { id, key } = &self.current;
        // Random, because several processes use the key: after 2^32 values two may share a nonce.
        let nonce = rand::random::<[u8; NONCE_LEN]>();
        let mut ciphertext = text.as_bytes().to_vec();
        key.seal_in_place_append_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(place),
            &mut ciphertext,
        )
        .expect("a value is far shorter than what the cipher takes");
        SealedValue {
            ciphertext,
            nonce: nonce.into(),
            key_id: id.clone(),
        }
    }

    fn open_at(&self, place: Vec<u8>, sealed: &SealedValue) -> Result<String, OpenError> {
        let mut keys = std::iter::once(&self.current).chain(&self.earlier);
        let found = keys.find(|key| key.id == sealed.key_id);
        let MasterKey { key, .. } = found.ok_or_else(|| OpenError::UnknownKey {
            key_id: sealed.key_id.clone(),
        })?;
        let nonce = Nonce::try_assume_unique_for_key(&sealed.nonce);
        let nonce = nonce.map_err(|_| OpenError::Forged)?;
        let mut buffer = sealed.ciphertext.clone();
        let opened = key.open_in_place(nonce, Aad::from(place), &mut buffer);
        let length = opened.map_err(|_| OpenError::Forged)?.len();
        buffer.truncate(length);
        String::from_utf8(buffer).map_err(|_| OpenError::Forged)
    }
}

fn webhook_place(tenant: TenantId, id: Uuid, key_id: &str) -> Vec<u8> {
    let parts: [&[u8]; 4] = [
        WEBHOOK_PURPOSE,
        tenant.0.as_bytes(),
        id.as_bytes(),
        key_id.as_bytes(),
    ];
    parts.concat()
}

/// The data to which a ciphertext is bound. All parts but the last have a fixed length or a length prefix.
fn place(tenant: TenantId, name: &SecretName, key_id: &str) -> Vec<u8> {
    let parts: [&[u8]; 4] = [
        PURPOSE,
        tenant.0.as_bytes(),
        key_id.as_bytes(),
        name.as_str().as_bytes(),
    ];
    parts.concat()
}

impl MasterKey {
    fn parse(text: &str) -> Result<Self, MasterKeyError> {
        let bytes = STANDARD.decode(text.trim()).map_err(|_| MasterKeyError)?;
        let key = UnboundKey::new(&AES_256_GCM, &bytes).map_err(|_| MasterKeyError)?;
        Ok(Self {
            id: hex::encode(&Sha256::digest(&bytes)[..ID_BYTES]),
            key: LessSafeKey::new(key),
        })
    }
}

/// A new master key, in the form in which it is configured.
pub fn generate_master_key() -> String {
    STANDARD.encode(rand::random::<[u8; KEY_BYTES]>())
}

/// The names of the keys; they say nothing of the keys.
impl fmt::Debug for MasterKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let earlier: Vec<_> = self.earlier.iter().map(|key| &key.id).collect();
        f.debug_struct("MasterKeys")
            .field("current", &self.current.id)
            .field("earlier", &earlier)
            .finish()
    }
}

impl fmt::Debug for SealedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealedValue")
            .field("key_id", &self.key_id)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
