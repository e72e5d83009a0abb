//! Attachments: the inputs that the model reads itself, and those that it finds in the workspace.

use bytes::Bytes;

use worker_model::Media;
use worker_model::image_scaling;

/// The maximum size of an inline PDF or recording. The model finds a larger file in the workspace.
const MAX_FILE_BYTES: u64 = 4 * 1024 * 1024;

/// The maximum size of all inline files together. Anthropic accepts 32 MB of base64, including everything around it.
/// Files beyond the limit are only named.
const MAX_BYTES: usize = 20 * 1024 * 1024;

/// An input in the prompt.
pub(crate) enum Attachment {
    /// The file itself.
    Inline(Media),
    /// Only the path. Has a reason if files of this type can be inline.
    PathOnly(Option<String>),
}

/// The selection of inline attachments within the limits of a request.
pub(crate) struct AttachmentSelection {
    files: usize,
    left_bytes: usize,
}

impl AttachmentSelection {
    /// Creates a selection for the given number of files.
    pub(crate) fn of(files: usize) -> Self {
        Self {
            files,
            left_bytes: MAX_BYTES,
        }
    }

    /// Adds a file. `content` is `None` if the file is too large or its type is never inline.
    pub(crate) async fn add(
        &mut self,
        name: &str,
        content_type: &str,
        content: Option<Bytes>,
    ) -> Attachment {
        if limit(content_type).is_none() {
            return Attachment::PathOnly(None);
        }
        let Some(content) = content else {
            return path_only("it is too large");
        };
        let (content_type, data, pixels) = if is_image(content_type) {
            match image_scaling::fit(content, self.files).await {
                Ok(picture) => (
                    picture.content_type.to_owned(),
                    picture.data,
                    Some(picture.pixels),
                ),
                Err(error) => return path_only(&error.to_string()),
            }
        } else {
            (content_type.to_owned(), content, None)
        };
        let Some(left) = self.left_bytes.checked_sub(data.len()) else {
            return path_only("there are too many");
        };
        self.left_bytes = left;
        let name = name.to_owned();
        Attachment::Inline(Media {
            name,
            content_type,
            data,
            pixels,
        })
    }
}

/// Whether a file of `size` bytes may be inline.
pub(crate) fn may_be_inline(content_type: &str, size: u64) -> bool {
    limit(content_type).is_some_and(|limit| size <= limit)
}

/// Returns the maximum size of an inline file of the given type, or `None` if the type is never inline.
fn limit(content_type: &str) -> Option<u64> {
    if is_image(content_type) {
        Some(image_scaling::MAX_FILE_BYTES)
    } else if content_type.starts_with("audio/") || content_type == "application/pdf" {
        Some(MAX_FILE_BYTES)
    } else {
        None
    }
}

fn is_image(content_type: &str) -> bool {
    content_type.starts_with("image/")
}

fn path_only(why: &str) -> Attachment {
    Attachment::PathOnly(Some(why.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PDF: &str = "application/pdf";

    async fn seen(
        selection: &mut AttachmentSelection,
        content_type: &str,
        bytes: Option<usize>,
    ) -> String {
        let content = bytes.map(|bytes| Bytes::from(vec![b'x'; bytes]));
        match selection.add("f", content_type, content).await {
            Attachment::Inline(file) => format!("{} bytes", file.data.len()),
            Attachment::PathOnly(why) => why.unwrap_or_else(|| "nothing".into()),
        }
    }

    #[tokio::test]
    async fn files_are_shown_as_far_as_they_fit() {
        let mut selection = AttachmentSelection::of(9);
        assert_eq!(seen(&mut selection, "text/csv", Some(1)).await, "nothing");
        assert_eq!(seen(&mut selection, PDF, None).await, "it is too large");
        let no_image = seen(&mut selection, "image/png", Some(9)).await;
        assert_eq!(no_image, "it is not a PNG, JPEG, GIF or WebP image");
        let large = 4 * 1024 * 1024;
        for _ in 0..5 {
            assert_eq!(
                seen(&mut selection, PDF, Some(large)).await,
                "4194304 bytes"
            );
        }
        assert_eq!(
            seen(&mut selection, "audio/wav", Some(1)).await,
            "there are too many"
        );
    }

    #[test]
    fn images_may_be_larger_as_they_are_scaled_down() {
        let size = MAX_FILE_BYTES + 1;
        assert!(may_be_inline("image/png", size) && may_be_inline(PDF, size - 1));
        assert!(!may_be_inline(PDF, size) && !may_be_inline("video/mp4", 1));
        assert!(!may_be_inline(
            "image/png",
            image_scaling::MAX_FILE_BYTES + 1
        ));
    }
}
