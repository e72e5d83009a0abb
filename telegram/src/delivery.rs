//! The result of a job as messages.

use std::path::PathBuf;

use skillet_client::types::asset::{Asset, OutputKind};
use skillet_client::types::job::{Job, LoopStop, Output, Status};

use crate::markdown;
use crate::outbox::OutgoingFile;
use crate::rich_text::{MESSAGE_LIMIT, RichText};
use crate::split::{shorten, split};

/// The maximum number of messages for a text. A longer text is sent as a file.
const MAX_TEXT_MESSAGES: usize = 3;
/// The name of the file with a long text.
const TEXT_FILE: &str = "answer.md";
/// The maximum size of a picture that Telegram shows as a photo.
const MAX_PHOTO_BYTES: i64 = 10_000_000;

/// A message of a result.
#[derive(Clone, Debug)]
pub(crate) enum DeliveryPart {
    Text(RichText),
    /// A text that is sent as a file with this name.
    TextFile(&'static str, String),
    File(Output),
}

/// Returns the messages of a job that has ended, in order. The same job always has the same messages.
pub(crate) fn parts(job: &Job) -> Vec<DeliveryPart> {
    if job.status == Status::Cancelled {
        return Vec::new();
    }
    let text = job.result.text.as_deref().unwrap_or_default();
    let mut parts = text_parts(text);
    let outputs = job.result.outputs.iter().cloned();
    parts.extend(outputs.map(DeliveryPart::File));
    if let Some(error) = &job.result.error {
        let retry = if error.retryable {
            " /retry runs it again."
        } else {
            ""
        };
        let text = RichText::default().text("❌ ").bold("The job failed: ");
        parts.push(DeliveryPart::Text(
            text.text(&format!("{}{retry}", shorten(&error.message, 3000))),
        ));
    }
    if let Some(limit) = job.result.stop_reason.and_then(limit_text) {
        let text = RichText::default().text("⚠ ").italic(limit);
        parts.push(DeliveryPart::Text(text));
    }
    if parts.is_empty() {
        let text = "The job has ended without text or files.";
        parts.push(DeliveryPart::Text(RichText::plain(text)));
    }
    parts
}

fn text_parts(text: &str) -> Vec<DeliveryPart> {
    let messages = split(markdown::blocks(text), MESSAGE_LIMIT);
    if messages.len() <= MAX_TEXT_MESSAGES {
        return messages.into_iter().map(DeliveryPart::Text).collect();
    }
    let beginning = shorten(&messages[0].plain_text(), MESSAGE_LIMIT / 4);
    let hint = format!("\n\nThe whole text is in {TEXT_FILE}.");
    vec![
        DeliveryPart::Text(RichText::plain(beginning).italic(&hint)),
        DeliveryPart::TextFile(TEXT_FILE, text.to_owned()),
    ]
}

/// Returns the ways to send an output, the best first.
pub(crate) fn file_forms(output: &Output, path: PathBuf, reply_to: i64) -> Vec<OutgoingFile> {
    let asset = &output.asset;
    let best = match (output.kind, asset.content_type.as_str()) {
        (OutputKind::Image, "image/png" | "image/jpeg" | "image/webp")
            if asset.size <= MAX_PHOTO_BYTES =>
        {
            Some(("sendPhoto", "photo"))
        }
        (OutputKind::Audio, "audio/mpeg" | "audio/mp4" | "audio/x-m4a" | "audio/m4a") => {
            Some(("sendAudio", "audio"))
        }
        (OutputKind::Video, "video/mp4") => Some(("sendVideo", "video")),
        _ => None,
    };
    let methods = best.into_iter().chain([("sendDocument", "document")]);
    let file = |(method, field)| OutgoingFile {
        method,
        field,
        path: path.clone(),
        name: asset.name.clone(),
        content_type: asset.content_type.clone(),
        reply_to: Some(reply_to),
    };
    methods.map(file).collect()
}

/// The text for a file that cannot be sent.
pub(crate) fn link_text(name: &str, size: u64, reason: &str, job_url: &str) -> RichText {
    file_text(name, size).text(&format!(": {reason}. It is at {job_url}"))
}

/// The text for a file whose content the service no longer has.
pub(crate) fn lost_text(asset: &Asset) -> RichText {
    let text = file_text(&asset.name, asset.size.unsigned_abs());
    text.text(": The service no longer has this file.")
}

fn file_text(name: &str, size: u64) -> RichText {
    let text = RichText::default().text("📎 ").bold(&shorten(name, 300));
    text.text(&format!(", {}", size_text(size)))
}

/// Formats a size for people.
pub(crate) fn size_text(bytes: u64) -> String {
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{} kB", bytes / 1_000),
        _ => format!("{}.{} MB", bytes / 1_000_000, bytes / 100_000 % 10),
    }
}

/// Describes the limit that stopped a job.
fn limit_text(stop: LoopStop) -> Option<&'static str> {
    match stop {
        LoopStop::EndTurn | LoopStop::Refusal => None,
        LoopStop::MaxTokens => Some("The answer reached its token limit and was cut off."),
        LoopStop::ContextFull => Some("The job stopped: the context of the model is full."),
        LoopStop::MaxIterations => Some("The job stopped at its limit of model replies."),
        LoopStop::RepeatedCall => Some("The job stopped: it repeated the same tool call."),
        LoopStop::MaxTotalTokens => Some("The job stopped at its token limit."),
        LoopStop::MaxCostUsd => Some("The job stopped at its cost limit."),
        LoopStop::TenantBudget => Some("The job stopped: the budget of this month is used up."),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn output(kind: &str, content_type: &str, size: i64) -> Output {
        serde_json::from_value(json!({"kind": kind, "asset": {
            "id": format!("asst_{}", "0".repeat(32)), "name": "f", "content_type": content_type, "size": size,
            "sha256": "", "created_at": "2026-01-01T00:00:00Z", "content_url": "",
        }}))
        .unwrap()
    }

    #[test]
    fn an_output_is_sent_by_its_kind_and_at_last_as_a_document() {
        for (kind, content_type, size, methods) in [
            ("image", "image/png", 5, &["sendPhoto", "sendDocument"][..]),
            ("image", "image/png", MAX_PHOTO_BYTES + 1, &["sendDocument"]),
            ("image", "image/svg+xml", 5, &["sendDocument"]),
            ("audio", "audio/mpeg", 5, &["sendAudio", "sendDocument"]),
            ("audio", "audio/wav", 5, &["sendDocument"]),
            ("video", "video/mp4", 5, &["sendVideo", "sendDocument"]),
            ("html", "text/html", 5, &["sendDocument"]),
        ] {
            let forms = file_forms(&output(kind, content_type, size), PathBuf::new(), 1);
            let found: Vec<_> = forms.iter().map(|form| form.method).collect();
            assert_eq!(found, methods, "{content_type}");
        }
    }

    #[test]
    fn a_text_is_up_to_three_messages_and_then_a_file() {
        for (length, texts, files) in [
            (0, 0, 0),
            (4096, 1, 0),
            (4097, 2, 0),
            (12_288, 3, 0),
            (12_289, 1, 1),
        ] {
            let parts = text_parts(&"x".repeat(length));
            let count = parts
                .iter()
                .filter(|it| matches!(it, DeliveryPart::Text(_)))
                .count();
            assert_eq!((count, parts.len() - count), (texts, files), "{length}");
        }
    }

    #[test]
    fn a_size_is_short() {
        assert_eq!(
            [0, 999, 20_500, 52_428_800].map(size_text),
            ["0 B", "999 B", "20 kB", "52.4 MB"]
        );
    }
}
