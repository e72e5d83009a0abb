//! Webhook secrets and signatures (Standard Webhooks 1.0, version `v1`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use secrecy::{ExposeSecret, SecretString};

const PREFIX: &str = "whsec_";
/// The lengths of keys in bytes: of new ones, and the range in the specification.
const NEW_BYTES: usize = 32;
const BYTES: std::ops::RangeInclusive<usize> = 24..=64;

/// The secret of a webhook, `whsec_…`. It has no `Display`, and its `Debug` does not show the secret.
#[derive(Clone, Debug)]
pub struct WebhookSecret {
    text: SecretString,
    key: hmac::Key,
}

/// The text is not a valid webhook secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("must be `{PREFIX}` and 24 to 64 bytes in Base64")]
pub struct InvalidWebhookSecret;

impl WebhookSecret {
    /// Generates a new secret with 256 random bits.
    pub fn generate() -> Self {
        let bytes = rand::random::<[u8; NEW_BYTES]>();
        Self::of(format!("{PREFIX}{}", STANDARD.encode(bytes)), &bytes)
    }

    /// Parses a secret.
    pub fn parse(text: &str) -> Result<Self, InvalidWebhookSecret> {
        let encoded = text.strip_prefix(PREFIX).ok_or(InvalidWebhookSecret)?;
        let bytes = STANDARD.decode(encoded).map_err(|_| InvalidWebhookSecret)?;
        if !BYTES.contains(&bytes.len()) {
            return Err(InvalidWebhookSecret);
        }
        Ok(Self::of(text.to_owned(), &bytes))
    }

    fn of(text: String, bytes: &[u8]) -> Self {
        Self {
            text: text.into(),
            key: hmac::Key::new(hmac::HMAC_SHA256, bytes),
        }
    }

    /// Returns the secret in plain text, to show it to its owner.
    pub fn reveal(&self) -> &str {
        self.text.expose_secret()
    }

    /// Signs a body. Returns the value for the `webhook-signature` header. `timestamp` is in seconds since 1970.
    pub fn sign(&self, id: &str, timestamp: i64, body: &[u8]) -> String {
        let mut signing = hmac::Context::with_key(&self.key);
        signing.update(format!("{id}.{timestamp}.").as_bytes());
        signing.update(body);
        format!("v1,{}", STANDARD.encode(signing.sign()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_reference() {
        let secret = WebhookSecret::parse("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD").unwrap();
        let body = br#"{"email":"test@example.com","username":"test_user"}"#;
        let signature = secret.sign("msg_27UH4WbU6Z5A5EzD8u03UvzRbpk", 1_649_367_553, body);
        assert_eq!(signature, "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=");
    }

    #[test]
    fn a_new_secret_is_read_again_and_nothing_else_is_one() {
        let secret = WebhookSecret::generate();
        let read = WebhookSecret::parse(secret.reveal()).unwrap();
        assert_eq!(read.sign("a", 1, b"b"), secret.sign("a", 1, b"b"));
        assert!(!format!("{secret:?}").contains(&secret.reveal()[6..]));
        for text in [
            "",
            "whsec_",
            "whsec_AAAA",
            "whsk_AAAA",
            &secret.reveal()[6..],
        ] {
            assert!(WebhookSecret::parse(text).is_err(), "{text}");
        }
    }
}
