//! Signatures of webhooks (Standard Webhooks 1.0, version `v1`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use ring::hmac;
use serde_json::Value;

/// The maximum difference in seconds between the timestamp of a webhook and now.
const TOLERANCE_SECONDS: u64 = 300;

/// An error in the verification of a webhook. Respond with status 400, except for [`WebhookError::Secret`].
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// A header is missing or is not text.
    #[error("the webhook has no header `{0}`")]
    Header(&'static str),
    /// The timestamp is invalid, or too far from the current time.
    #[error(
        "the timestamp of the webhook is invalid, or differs from the current time by more than {TOLERANCE_SECONDS} seconds"
    )]
    Time,
    /// The secret that this program passed is malformed.
    #[error("the secret must be `whsec_` followed by Base64")]
    Secret,
    /// No signature matches the body and the secret.
    #[error("no signature matches the body and the secret")]
    Signature,
    /// The body has a valid signature but is not JSON.
    #[error("the content of the webhook is not JSON")]
    Content(#[source] serde_json::Error),
}

/// Verifies the signature and the timestamp of a webhook and returns its content. A signature with any of the secrets
/// (`whsec_…`) is accepted.
///
/// `body` is the raw request body, not JSON that was parsed and serialized again. `header` returns a header by its
/// lower-case name, such as `|name| request.headers().get(name)?.to_str().ok()`.
pub fn verify_webhook<'a>(
    body: &[u8],
    header: impl Fn(&str) -> Option<&'a str>,
    secrets: &[&str],
) -> Result<Value, WebhookError> {
    verify_webhook_at(Utc::now(), body, header, secrets)
}

/// Verifies a webhook as [`verify_webhook`] does, with `now` as the current time. For tests.
pub fn verify_webhook_at<'a>(
    now: DateTime<Utc>,
    body: &[u8],
    header: impl Fn(&str) -> Option<&'a str>,
    secrets: &[&str],
) -> Result<Value, WebhookError> {
    let header = |name| header(name).ok_or(WebhookError::Header(name));
    let (id, timestamp) = (header("webhook-id")?, header("webhook-timestamp")?);
    let signatures = header("webhook-signature")?;
    let age = timestamp
        .parse()
        .map(|at: i64| now.timestamp().abs_diff(at));
    if !age.is_ok_and(|age| age <= TOLERANCE_SECONDS) {
        return Err(WebhookError::Time);
    }
    let signed = [format!("{id}.{timestamp}.").as_bytes(), body].concat();
    let keys: Result<Vec<_>, _> = secrets.iter().copied().map(key_of).collect();
    if keys?.iter().any(|key| is_signed(&signed, signatures, key)) {
        serde_json::from_slice(body).map_err(WebhookError::Content)
    } else {
        Err(WebhookError::Signature)
    }
}

fn key_of(secret: &str) -> Result<hmac::Key, WebhookError> {
    let key = STANDARD.decode(secret.strip_prefix("whsec_").unwrap_or(secret));
    let key = key.ok().filter(|key| !key.is_empty());
    let key = key.ok_or(WebhookError::Secret)?;
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &key))
}

/// Whether one of the signatures is valid. The comparison takes constant time.
fn is_signed(signed: &[u8], signatures: &str, key: &hmac::Key) -> bool {
    let mut signatures = signatures.split(' ').filter_map(|signature| {
        let encoded = signature.strip_prefix("v1,")?;
        STANDARD.decode(encoded).ok()
    });
    signatures.any(|signature| hmac::verify(key, signed, &signature).is_ok())
}
