//! Idempotency of submissions: a key names one request for its jobs' whole life.

use actix_web::HttpRequest;
use sha2::{Digest, Sha256};
use shared::db;

use super::super::header;
use super::{Submitted, Submitter};
use crate::problem::ApiError;

/// The `Idempotency-Key` of a request.
pub(crate) struct Key {
    /// Its text.
    pub(crate) text: String,
    /// SHA-256 of all that was sent with it.
    pub(crate) digest: [u8; 32],
}

impl Key {
    /// The key of a request that sends this, if it has one.
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
    /// The jobs of an earlier request with the key.
    pub(super) async fn submitted_before(&self, key: &Key) -> Result<Option<Submitted>, ApiError> {
        let used = db::idempotency::get(self.pool, self.caller.tenant, &key.text).await?;
        match used {
            Some(used) if used.digest != key.digest => Err(ApiError::IdempotencyMismatch),
            used => Ok(used.map(|used| Submitted::Replayed(used.jobs))),
        }
    }
}

/// SHA-256 of what was sent as it was understood: white space and the order of fields do not matter.
pub(crate) fn digest(sent: &impl serde::Serialize) -> Result<[u8; 32], ApiError> {
    let json = serde_json::to_vec(sent).map_err(|error| ApiError::Internal(error.into()))?;
    Ok(Sha256::digest(json).into())
}
