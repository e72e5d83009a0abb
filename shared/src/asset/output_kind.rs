//! Kinds of outputs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The kinds of files that a job can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// PNG, JPEG, GIF, WebP, SVG, …
    Image,
    /// WAV, MP3, FLAC, Ogg, …
    Audio,
    /// MP4, WebM, Matroska, …
    Video,
    /// PDF, Office files, text, data, archives.
    Document,
    /// A page.
    Html,
}

impl OutputKind {
    /// Its name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
            Self::Html => "html",
        }
    }
}
