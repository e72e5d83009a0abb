//! Stored values of another release. A value that cannot be read leaves all others alone.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// This release cannot read something that is stored.
#[derive(Debug, thiserror::Error)]
#[error("this release cannot read {what}")]
pub struct UnreadableRow {
    what: &'static str,
    #[source]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl UnreadableRow {
    /// `what` is a noun with its article, such as `the request`.
    pub fn new(
        what: &'static str,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let cause = cause.into();
        Self { what, cause }
    }
}

/// Reads stored JSON.
pub fn read<T: DeserializeOwned>(what: &'static str, json: &RawValue) -> Result<T, UnreadableRow> {
    serde_json::from_str(json.get()).map_err(|error| UnreadableRow::new(what, error))
}

/// Reads stored JSON that belongs to a row of that id. A value that cannot be read is logged and replaced.
pub fn read_or_else<T: DeserializeOwned>(
    what: &'static str,
    id: impl Display,
    json: &RawValue,
    replacement: impl FnOnce() -> T,
) -> T {
    read(what, json).unwrap_or_else(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(%id, error, "a stored value is left out");
        replacement()
    })
}
