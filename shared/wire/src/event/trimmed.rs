//! The event in place of removed live output.

use serde::{Deserialize, Serialize};

/// Data of `log.trimmed`. The event is not stored: the numbers of a log have no gaps, so missing numbers are those of
/// live output that was removed. Its own `seq` is `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogTrimmed {
    /// The `seq` of the first event that was removed.
    pub from: i64,
    /// The `seq` of the last event that was removed.
    pub to: i64,
}
