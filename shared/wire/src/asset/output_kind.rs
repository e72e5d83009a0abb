//! Kinds of files.

use serde::{Deserialize, Serialize};

/// The kind of an input or output file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
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
    /// An HTML page.
    Html,
}

impl OutputKind {
    /// Returns the name used in the API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
            Self::Html => "html",
        }
    }

    /// Returns the kind of a file with this media type.
    pub fn of(content_type: &str) -> Self {
        let kinds = [Self::Image, Self::Audio, Self::Video, Self::Html];
        let mut fitting = kinds.into_iter().filter(|kind| kind.accepts(content_type));
        fitting.next().unwrap_or(Self::Document)
    }

    /// Whether a file of this media type is accepted as an input of this kind.
    pub fn accepts(self, content_type: &str) -> bool {
        let (top, _) = content_type.split_once('/').unwrap_or((content_type, ""));
        match self {
            Self::Image => top == "image",
            Self::Audio => top == "audio",
            Self::Video => top == "video",
            Self::Html => content_type == "text/html",
            Self::Document => {
                !matches!(top, "image" | "audio" | "video")
                    && content_type != "application/octet-stream"
            }
        }
    }
}
