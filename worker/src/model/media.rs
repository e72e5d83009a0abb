//! What both wires need to know of a file.

use crate::model::Media;

impl Media {
    /// The media type without parameters.
    pub(super) fn essence(&self) -> &str {
        self.content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
    }

    /// The text that stands for a file which the provider cannot take.
    pub(super) fn mention(&self) -> String {
        format!(
            "[file {} ({}) is in the workspace]",
            self.name, self.content_type
        )
    }
}
