//! Idempotency of submissions: for 24 hours, a key stands for one request.

use actix_web::HttpRequest;
use sha2::{Digest, Sha256};
use shared::db;

use super::super::header;
use super::{Submitted, Submitter};
use crate::problem::ApiError;

/// The `Idempotency-Key` of a request.
pub(crate) struct Key {
    /// The text of the key.
    pub(crate) text: String,
    /// The SHA-256 of everything that was sent with the key.
    pub(crate) digest: [u8; 32],
}

impl Key {
    /// Returns the key of a request with this content, if the request has a key.
    pub(crate) fn of(
        http: &HttpRequest,
        sent: &impl serde::Serialize,
    ) -> Result<Option<Self>, ApiError> {
        let Some(text) = header::key(http)? else {
            return Ok(None);
        };
        let digest = digest(sent)?;
        Ok(Some(Self { text, digest }))
    }
}

impl Submitter<'_> {
    /// Returns the jobs of an earlier request with the key. A different request with the key is an error.
    pub(super) async fn submitted_before(&self, key: &Key) -> Result<Option<Submitted>, ApiError> {
        let used = db::idempotency::get(self.pool, self.caller.tenant, &key.text).await?;
        match used {
            Some(used) if used.digest != key.digest => Err(ApiError::IdempotencyMismatch),
            used => Ok(used.map(|used| Submitted::Replayed(used.jobs))),
        }
    }
}

/// Returns the SHA-256 of the parsed request. White space and the order of fields do not matter.
pub(crate) fn digest(sent: &impl serde::Serialize) -> Result<[u8; 32], ApiError> {
    let json = serde_json::to_vec(sent).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Sha256::digest(json).into())
}
