//! Files that a model sees directly, and files that are only mentioned to it.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use shared::provider::MediaKind;

use crate::{Media, ModelError, ModelMessage, Part};

/// Words of a refusal that is about a kind of files. Fewer models accept audio than PDF, and fewer accept PDF than
/// images. The first kind that matches is only mentioned from then on.
const WORDS: [(MediaKind, &[&str]); 3] = [
    (MediaKind::Audio, &["audio"]),
    (MediaKind::Pdf, &["pdf", "document", "file"]),
    (
        MediaKind::Image,
        &["image", "vision", "multimodal", "multi-modal"],
    ),
];

/// Words of a refusal that may be about any file.
const WORDS_FOR_ALL: [&str; 7] = [
    "a string",
    "content type",
    "context length",
    "modalit",
    "too large",
    "too long",
    "maximum size",
];

/// Words of a refusal that is about the abilities of the model, and not about one file.
const CAPABILITY_WORDS: [&str; 6] = [
    "support",
    "multimodal",
    "multi-modal",
    "modalit",
    "vision",
    "must be a string",
];

/// The kinds of files that a model accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AcceptedMedia {
    image: bool,
    pdf: bool,
    audio: bool,
}

/// The form in which a file is sent to a model.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum MediaForm {
    /// An image, with its media type.
    Image(&'static str),
    Pdf,
    /// Audio, with the name of its format.
    Audio(&'static str),
    /// A text that names the file.
    Mention,
}

impl AcceptedMedia {
    /// Returns the kinds of the wire format, limited to the configured ones, if any.
    pub(super) fn of(format: &[MediaKind], configured: Option<&[MediaKind]>) -> Self {
        let takes = |kind| {
            format.contains(&kind) && configured.is_none_or(|configured| configured.contains(&kind))
        };
        Self {
            image: takes(MediaKind::Image),
            pdf: takes(MediaKind::Pdf),
            audio: takes(MediaKind::Audio),
        }
    }

    pub(super) fn includes(self, kind: MediaKind) -> bool {
        match kind {
            MediaKind::Image => self.image,
            MediaKind::Pdf => self.pdf,
            MediaKind::Audio => self.audio,
        }
    }

    fn without(self, kind: MediaKind) -> Self {
        let keep = |other| self.includes(other) && other != kind;
        Self {
            image: keep(MediaKind::Image),
            pdf: keep(MediaKind::Pdf),
            audio: keep(MediaKind::Audio),
        }
    }

    /// Returns the kinds that remain after a refusal of files, or `None` if the refusal is about something else. Each
    /// refusal removes a kind, so a loop of corrected requests ends.
    pub(super) fn corrected(self, error: &ModelError, messages: &[ModelMessage]) -> Option<Self> {
        let words = match error {
            ModelError::Refused {
                status: 400 | 404 | 413 | 415 | 422,
                message,
            } => message.to_lowercase(),
            // llama.cpp returns 500 for an image if it runs without its component for images.
            ModelError::Unavailable { message, .. } => {
                let words = message.to_lowercase();
                words.contains("support").then_some(words)?
            }
            _ => return None,
        };
        let is_for_all = WORDS_FOR_ALL.iter().any(|word| words.contains(word));
        let is_meant = |names: &[&str]| is_for_all || names.iter().any(|word| words.contains(word));
        let mut kinds = WORDS.into_iter();
        let (kind, _) =
            kinds.find(|(kind, names)| is_meant(names) && self.shows(*kind, messages))?;
        Some(self.without(kind))
    }

    /// Whether a refusal also applies to later requests with other files. Otherwise it may be about a file
    /// that is damaged or too large.
    pub(super) fn is_refused_for_good(error: &ModelError) -> bool {
        let (ModelError::Refused { message, .. } | ModelError::Unavailable { message, .. }) = error
        else {
            return false;
        };
        let words = message.to_lowercase();
        CAPABILITY_WORDS.iter().any(|word| words.contains(word))
    }

    fn shows(self, kind: MediaKind, messages: &[ModelMessage]) -> bool {
        let parts = messages.iter().filter_map(|message| match message {
            ModelMessage::User(parts) => Some(parts),
            ModelMessage::Assistant(_) => None,
        });
        self.includes(kind)
            && parts.flatten().any(|part| match part {
                Part::Media(file) => file.kind() == Some(kind),
                Part::ToolResult(result) => {
                    result.images.iter().any(|file| file.kind() == Some(kind))
                }
                Part::Text(_) => false,
            })
    }
}

impl Media {
    /// Returns the form in which the file is sent to a model that accepts these kinds.
    pub(super) fn form(&self, takes: AcceptedMedia) -> MediaForm {
        match self.best_form() {
            MediaForm::Image(_) if !takes.image => MediaForm::Mention,
            MediaForm::Pdf if !takes.pdf => MediaForm::Mention,
            MediaForm::Audio(_) if !takes.audio => MediaForm::Mention,
            form => form,
        }
    }

    fn best_form(&self) -> MediaForm {
        match self.essence() {
            "image/jpeg" | "image/jpg" => MediaForm::Image("image/jpeg"),
            "image/png" => MediaForm::Image("image/png"),
            "image/gif" => MediaForm::Image("image/gif"),
            "image/webp" => MediaForm::Image("image/webp"),
            "application/pdf" => MediaForm::Pdf,
            "audio/wav" | "audio/x-wav" | "audio/wave" | "audio/vnd.wave" => {
                MediaForm::Audio("wav")
            }
            "audio/mpeg" | "audio/mp3" => MediaForm::Audio("mp3"),
            _ => MediaForm::Mention,
        }
    }

    fn kind(&self) -> Option<MediaKind> {
        match self.best_form() {
            MediaForm::Image(_) => Some(MediaKind::Image),
            MediaForm::Pdf => Some(MediaKind::Pdf),
            MediaForm::Audio(_) => Some(MediaKind::Audio),
            MediaForm::Mention => None,
        }
    }

    /// Returns the media type without parameters.
    fn essence(&self) -> &str {
        self.content_type
            .split(';')
            .next()
            .unwrap_or_default()
            .trim()
    }

    /// Returns the content in base64.
    pub(super) fn base64(&self) -> String {
        STANDARD.encode(&self.data)
    }

    /// Returns the text that replaces an image of a result if the model accepts no images.
    pub(super) fn image_mention(&self) -> String {
        format!(
            "[This model does not support images: {} is not shown. Use its measured values.]",
            self.name
        )
    }

    /// Returns the text that replaces a file that the provider does not accept.
    pub(super) fn mention(&self) -> String {
        format!(
            "[file {} ({}) is in the workspace]",
            self.name, self.content_type
        )
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::*;

    const ALL: [MediaKind; 3] = [MediaKind::Image, MediaKind::Pdf, MediaKind::Audio];

    fn files(content_types: &[&str]) -> [ModelMessage; 1] {
        let file = |content_type: &&str| {
            Part::Media(Media {
                name: "f".into(),
                content_type: (*content_type).into(),
                data: Bytes::new(),
                pixels: None,
            })
        };
        [ModelMessage::User(content_types.iter().map(file).collect())]
    }

    fn refused(status: u16, message: &str) -> ModelError {
        let message = message.to_owned();
        ModelError::Refused { status, message }
    }

    #[test]
    fn a_refusal_takes_away_the_kind_that_it_is_about() {
        let (png, pdf, wav) = ("image/png", "application/pdf", "audio/wav");
        let cases = [
            (
                &[png, wav][..],
                400,
                "Invalid value: 'input_audio'.",
                Some(MediaKind::Audio),
            ),
            (
                &[png, pdf],
                400,
                "A maximum of 100 PDF pages may be provided.",
                Some(MediaKind::Pdf),
            ),
            (
                &[png],
                404,
                "No endpoints found that support image input",
                Some(MediaKind::Image),
            ),
            (
                &[png],
                422,
                "messages.0.content must be a string",
                Some(MediaKind::Image),
            ),
            (
                &[png, pdf],
                413,
                "Request exceeds the maximum size",
                Some(MediaKind::Pdf),
            ),
            (
                &[pdf],
                400,
                "prompt is too long: 250000 tokens > 200000 maximum",
                Some(MediaKind::Pdf),
            ),
            (&[png], 400, "Invalid value: 'input_audio'.", None),
            (&[png, pdf, wav], 400, "no such model", None),
            (&[png], 401, "the image key is wrong", None),
            (&[], 400, "image", None),
        ];
        let all = AcceptedMedia::of(&ALL, None);
        for (sent, status, words, expected) in cases {
            let corrected = all.corrected(&refused(status, words), &files(sent));
            assert_eq!(corrected, expected.map(|kind| all.without(kind)), "{words}");
        }
    }

    #[test]
    fn a_server_without_eyes_is_corrected_and_a_failing_one_is_not() {
        let all = AcceptedMedia::of(&ALL, None);
        let failing = |message: &str| ModelError::Unavailable {
            retry_after: None,
            message: message.into(),
        };
        let eyeless = failing("image input is not supported - you may need the mmproj");
        let image = files(&["image/png"]);
        assert_eq!(
            all.corrected(&eyeless, &image),
            Some(all.without(MediaKind::Image))
        );
        assert_eq!(all.corrected(&failing("image worker died"), &image), None);
        assert_eq!(all.corrected(&ModelError::BrokenStream, &image), None);
    }

    #[test]
    fn what_is_refused_for_good_is_told_from_a_file_that_is_damaged() {
        for (words, is_for_good) in [
            ("No endpoints found that support image input", true),
            ("messages.0.content must be a string", true),
            ("this is not a multimodal model", true),
            ("Could not process image", false),
            ("Request exceeds the maximum size", false),
            ("The PDF specified is password protected.", false),
        ] {
            let error = refused(400, words);
            assert_eq!(
                AcceptedMedia::is_refused_for_good(&error),
                is_for_good,
                "{words}"
            );
        }
        assert!(!AcceptedMedia::is_refused_for_good(
            &ModelError::BrokenStream
        ));
    }

    #[test]
    fn what_is_configured_narrows_what_the_format_has() {
        let takes = AcceptedMedia::of(
            &[MediaKind::Image, MediaKind::Pdf],
            Some(&[MediaKind::Pdf, MediaKind::Audio]),
        );
        let [ModelMessage::User(parts)] =
            files(&["image/png; q=1", "application/pdf", "audio/mpeg"])
        else {
            panic!("one message");
        };
        let forms = parts.iter().map(|part| match part {
            Part::Media(file) => file.form(takes),
            _ => panic!("no file"),
        });
        assert_eq!(
            forms.collect::<Vec<_>>(),
            [MediaForm::Mention, MediaForm::Pdf, MediaForm::Mention]
        );
    }
}
