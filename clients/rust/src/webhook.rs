//! Signatures of webhooks (Standard Webhooks 1.0, version `v1`).

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::{DateTime, Utc};
use ring::hmac;
use serde_json::Value;

/// Seconds that the time of a webhook may be from now.
const TOLERANCE_SECONDS: u64 = 300;

/// A webhook that is not from the service, or too old. Answer it with status 400.
#[derive(Debug, thiserror::Error)]
pub enum WebhookError {
    /// A header is missing, or not text.
    #[error("the webhook has no header `{0}`")]
    Header(&'static str),
    /// The time is not a number of seconds, or too far from now.
    #[error("the webhook was sent more than {TOLERANCE_SECONDS} seconds before or after now")]
    Time,
    /// The secret of this program is malformed.
    #[error("the secret is not `whsec_` and Base64")]
    Secret,
    /// No signature is that of the body.
    #[error("no signature of the webhook fits the body and the secret")]
    Signature,
    /// The content is signed and not JSON.
    #[error("the content of the webhook is not JSON")]
    Content(#[source] serde_json::Error),
}

/// Returns the content of a webhook that was signed with one of the secrets (`whsec_…`) a short time ago.
///
/// `body` is what arrived, byte for byte, and not JSON that was parsed and written again. `header` returns a header by
/// its name in lower case, such as `|name| request.headers().get(name)?.to_str().ok()`.
pub fn verify_webhook<'a>(
    body: &[u8],
    header: impl Fn(&str) -> Option<&'a str>,
    secrets: &[&str],
) -> Result<Value, WebhookError> {
    verify_webhook_at(Utc::now(), body, header, secrets)
}

/// The same at another time than now, for tests.
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

/// Whether one of the signatures is right. The comparison takes the same time whichever byte is wrong.
fn is_signed(signed: &[u8], signatures: &str, key: &hmac::Key) -> bool {
    let mut signatures = signatures.split(' ').filter_map(|signature| {
        let encoded = signature.strip_prefix("v1,")?;
        STANDARD.decode(encoded).ok()
    });
    signatures.any(|signature| hmac::verify(key, signed, &signature).is_ok())
}
