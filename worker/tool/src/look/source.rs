//! The kinds of files that can be shown to the model.

use serde::Serialize;
use shared::asset::is_textual;

/// A kind of files that can be shown to the model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum LookSource {
    /// An image that needs no program.
    Picture,
    /// An image that a program must convert first.
    Drawing,
    Pdf,
    /// An office document, which has pages after it is printed.
    Office,
    /// An HTML page.
    Page,
    /// A text, which is typeset: Markdown with its formatting, a table as a table, and any other text unchanged.
    Text,
    /// An EPUB book.
    Book,
    /// A font, which is shown as a specimen.
    Font,
    Film,
    /// A sound file, which is shown as its waveform and spectrum.
    Sound,
}

impl LookSource {
    /// Returns the kind of a media type, or `None` if such files cannot be shown.
    pub(super) fn of(content_type: &str) -> Option<Self> {
        let is_office = || {
            [
                "openxmlformats",
                "opendocument",
                "msword",
                "ms-excel",
                "ms-powerpoint",
                "rtf",
            ]
            .iter()
            .any(|part| content_type.contains(part))
        };
        Some(match content_type {
            "image/png" | "image/jpeg" | "image/gif" | "image/webp" => Self::Picture,
            "application/pdf" => Self::Pdf,
            "text/html" | "application/xhtml+xml" => Self::Page,
            "application/epub+zip" => Self::Book,
            _ if content_type.starts_with("image/") => Self::Drawing,
            _ if content_type.starts_with("video/") => Self::Film,
            _ if content_type.starts_with("audio/") => Self::Sound,
            _ if content_type.starts_with("font/") || content_type.contains("/font-") => Self::Font,
            _ if is_office() => Self::Office,
            _ if is_textual(content_type) => Self::Text,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_follow_the_media_type() {
        for (content_type, source) in [
            ("image/webp", Some(LookSource::Picture)),
            ("image/svg+xml", Some(LookSource::Drawing)),
            ("image/tiff", Some(LookSource::Drawing)),
            ("application/pdf", Some(LookSource::Pdf)),
            (
                "application/vnd.openxmlformats-officedocument.presentationml.presentation",
                Some(LookSource::Office),
            ),
            (
                "application/vnd.oasis.opendocument.text",
                Some(LookSource::Office),
            ),
            ("text/rtf", Some(LookSource::Office)),
            ("text/html", Some(LookSource::Page)),
            ("video/mp4", Some(LookSource::Film)),
            ("audio/mpeg", Some(LookSource::Sound)),
            ("text/csv", Some(LookSource::Text)),
            ("text/markdown", Some(LookSource::Text)),
            ("application/json", Some(LookSource::Text)),
            ("application/epub+zip", Some(LookSource::Book)),
            ("font/ttf", Some(LookSource::Font)),
            ("application/font-sfnt", Some(LookSource::Font)),
            ("application/font-woff", Some(LookSource::Font)),
            ("application/zip", None),
            ("application/octet-stream", None),
        ] {
            assert_eq!(LookSource::of(content_type), source, "{content_type}");
        }
    }
}
