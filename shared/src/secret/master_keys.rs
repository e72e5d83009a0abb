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
/// The number of bytes of a key's SHA-256 that form the key's id.
const ID_BYTES: usize = 8;
/// A context string that separates these ciphertexts from other uses of the same key.
const PURPOSE: &[u8] = b"skillet secret 1";
/// The context string for the secrets of webhooks.
const WEBHOOK_PURPOSE: &[u8] = b"skillet webhook 1";

/// The master keys that encrypt stored secrets. The current key encrypts. Earlier keys only decrypt.
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

/// An encrypted secret, as stored in the database.
pub struct SealedValue {
    /// The value, encrypted and authenticated.
    pub ciphertext: Vec<u8>,
    /// The nonce. It is used for this ciphertext only.
    pub nonce: Vec<u8>,
    /// The id of the key that decrypts the ciphertext.
    pub key_id: String,
}

/// The text is not a valid master key.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a master key must be {KEY_BYTES} bytes in base64; create one with `openssl rand -base64 {KEY_BYTES}`"
)]
pub struct MasterKeyError;

/// The reason why a stored secret cannot be decrypted.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OpenError {
    /// The key is not configured.
    #[error("it was encrypted under the master key {key_id}, which is not configured here")]
    UnknownKey {
        /// The id of the key.
        key_id: String,
    },
    /// The row was changed, or it was written for another tenant or name.
    #[error("the stored value was changed or belongs to another secret")]
    Forged,
}

impl MasterKeys {
    /// Parses master keys, each of which is 32 bytes in base64.
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

    /// The id of the key that encrypts.
    pub fn current_id(&self) -> &str {
        &self.current.id
    }

    /// Encrypts a value and binds it to the tenant and the name of the secret.
    pub fn seal(&self, tenant: TenantId, name: &SecretName, value: &SecretValue) -> SealedValue {
        let place = place(tenant, name, &self.current.id);
        self.seal_at(place, value.expose())
    }

    /// Decrypts the stored value of the secret of that tenant and name.
    pub fn open(
        &self,
        tenant: TenantId,
        name: &SecretName,
        sealed: &SealedValue,
    ) -> Result<SecretValue, OpenError> {
        let place = place(tenant, name, &sealed.key_id);
        self.open_at(place, sealed).map(SecretValue::unchecked)
    }

    /// Encrypts the secret of a webhook and binds it to the tenant and the id of the row.
    pub fn seal_webhook(&self, tenant: TenantId, id: Uuid, secret: &WebhookSecret) -> SealedValue {
        let place = webhook_place(tenant, id, &self.current.id);
        self.seal_at(place, secret.reveal())
    }

    /// Decrypts the stored secret of the webhook in the row of that tenant and id.
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
        // A random nonce, because several processes use the key. Two nonces can collide after about 2^32 values.
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

/// The associated data of a ciphertext. The parts are unambiguous because all but the last have a fixed length.
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

/// Generates a new master key, in the format of the configuration.
pub fn generate_master_key() -> String {
    STANDARD.encode(rand::random::<[u8; KEY_BYTES]>())
}

/// Shows only the ids of the keys, which reveal nothing about the keys.
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
