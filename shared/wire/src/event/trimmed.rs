//! The entry that stands for live output that was removed.

use serde::{Deserialize, Serialize};

/// Data of `log.trimmed`. It is not stored: the numbers of a log have no gaps, so numbers that are not there are those
/// of live output that was removed. Its own `seq` is `to`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct LogTrimmed {
    /// The `seq` of the first event that was removed.
    pub from: i64,
    /// The `seq` of the last one.
    pub to: i64,
}
