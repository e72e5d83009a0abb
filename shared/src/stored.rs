//! Deserialization of stored values that another release may have written. An unreadable value does not affect other
//! values.

use std::fmt::Display;

use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// A stored value that this release cannot read.
#[derive(Debug, thiserror::Error)]
#[error("this release cannot read {what}")]
pub struct UnreadableRow {
    what: &'static str,
    #[source]
    cause: Box<dyn std::error::Error + Send + Sync>,
}

impl UnreadableRow {
    /// Creates the error. `what` is a noun with its article, such as `the request`.
    pub fn new(
        what: &'static str,
        cause: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        let cause = cause.into();
        Self { what, cause }
    }
}

/// Deserializes stored JSON.
pub fn read<T: DeserializeOwned>(what: &'static str, json: &RawValue) -> Result<T, UnreadableRow> {
    serde_json::from_str(json.get()).map_err(|error| UnreadableRow::new(what, error))
}

/// Deserializes stored JSON of the row `id`. Logs and replaces an unreadable value.
pub fn read_or_else<T: DeserializeOwned>(
    what: &'static str,
    id: impl Display,
    json: &RawValue,
    replacement: impl FnOnce() -> T,
) -> T {
    read(what, json).unwrap_or_else(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(%id, error, "using a replacement for an unreadable stored value");
        replacement()
    })
}
