//! The result of an MCP tool as the model reads it: text, and files for everything else.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};
use shared::asset::content_type_of;

use crate::call::{Call, Done};
use crate::look::attached;

/// The maximum number of files of one result. Further files are only counted.
const MAX_FILES: usize = 16;
/// The maximum number of images of one result that are shown. The model can open the others in the workspace.
const MAX_IMAGES: usize = 4;

/// Returns the result as the model reads it.
pub(super) async fn done(result: CallToolResult, call: &Call<'_>) -> Done {
    let mut parts = Vec::new();
    let (mut files, mut left_out) = (0, 0);
    let mut images = Vec::new();
    for block in result.content {
        let (what, data) = match block {
            ContentBlock::Text(text) => {
                parts.push(text.text);
                continue;
            }
            ContentBlock::ResourceLink(link) => {
                parts.push(format!("[a link to {}: {}]", link.name, link.uri));
                continue;
            }
            ContentBlock::Resource(embedded) => match embedded.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    parts.push(format!("[{uri}]\n{text}"));
                    continue;
                }
                ResourceContents::BlobResourceContents { uri, blob, .. } => (uri, blob),
                _ => continue,
            },
            ContentBlock::Image(image) => ("an image".to_owned(), image.data),
            ContentBlock::Audio(audio) => ("a sound".to_owned(), audio.data),
            _ => continue,
        };
        if files == MAX_FILES {
            left_out += 1;
            continue;
        }
        files += 1;
        let Ok(content) = STANDARD.decode(data) else {
            parts.push(format!("[{what} is damaged]"));
            continue;
        };
        let content = Bytes::from(content);
        parts.push(keep(&what, &content, files, call).await);
        if images.len() < MAX_IMAGES
            && let Ok(image) = attached(&format!("image {files}"), content).await
        {
            images.push(image);
        }
    }
    if left_out > 0 {
        parts.push(format!("[{left_out} more files are left out]"));
    }
    // Servers that send both send the same content in both.
    if parts.is_empty()
        && let Some(structured) = &result.structured_content
    {
        parts.push(structured.to_string());
    }
    if parts.is_empty() {
        parts.push("[the result is empty]".to_owned());
    }
    Done {
        is_error: result.is_error == Some(true),
        images,
        ..Done::text(parts.join("\n").replace('\0', "\u{fffd}"))
    }
}

/// Stores content in a file of the workspace. Returns a line that names the file.
async fn keep(what: &str, bytes: &[u8], number: usize, call: &Call<'_>) -> String {
    let content_type = content_type_of("", bytes);
    let mut file = call.spill_bytes(&format!("{number}.{}", extension(&content_type)));
    file.push(bytes).await;
    match file.finish().await {
        Some(kept) => format!(
            "[{what} is in the workspace file {}: {} bytes, {content_type}]",
            kept.path, kept.bytes
        ),
        None if bytes.is_empty() => format!("[{what} is empty]"),
        None => format!("[{what} could not be kept in a file]"),
    }
}

fn extension(content_type: &str) -> &str {
    match content_type {
        "image/jpeg" => "jpg",
        "image/svg+xml" => "svg",
        "text/plain" => "txt",
        "audio/mpeg" => "mp3",
        "audio/x-wav" => "wav",
        "application/octet-stream" => "bin",
        known => {
            let (_, name) = known.split_once('/').unwrap_or_default();
            let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric());
            if is_plain && (1..=5).contains(&name.len()) {
                name
            } else {
                "bin"
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_called_by_what_it_is() {
        let names = [
            "image/png",
            "image/jpeg",
            "application/pdf",
            "text/html",
            "application/x-a.b",
            "?",
        ];
        assert_eq!(
            names.map(extension),
            ["png", "jpg", "pdf", "html", "bin", "bin"]
        );
    }
}
