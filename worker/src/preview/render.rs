//! The rendering of a document in its own sandbox. Neither the document nor its renderer is trusted.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use futures_util::TryStreamExt;
use shared::db::preview::ClaimedPreview;
use tokio::time::timeout;
use worker_model::shown_image;
use worker_tool::blocking;
use worker_workspace::Workspace;

use crate::worker_context::WorkerContext;

/// The maximum duration of a rendering. LibreOffice may need a minute for its first document. A document that takes
/// longer counts as one that cannot be rendered.
pub(super) const TIMEOUT: Duration = Duration::from_secs(180);
/// The maximum size of a document. A larger document has no preview.
const MAX_DOCUMENT_BYTES: u64 = 50 * 1024 * 1024;
/// The maximum size of a PDF. A document with a larger PDF has no preview.
const MAX_PDF_BYTES: u64 = 32 * 1024 * 1024;
/// The maximum size of an image. A document with a larger image has no preview.
const MAX_PAGE_BYTES: u64 = 4 * 1024 * 1024;
/// The maximum number of pages that are rendered as images. The PDF has all pages.
const MAX_PAGES: u32 = 20;
/// The longer edge of an image, in pixels.
const LONG_EDGE: u32 = 1600;
const SCRIPT: &str = include_str!("render.sh");

/// A rendered document.
pub(super) struct RenderedDocument {
    pub(super) pdf: Bytes,
    /// The images of the first pages.
    pub(super) pages: Vec<PreviewPage>,
    pub(super) total_pages: i32,
}

/// A JPEG image of a page.
pub(super) struct PreviewPage {
    pub(super) content: Bytes,
    /// The width in pixels.
    pub(super) width: u32,
    /// The height in pixels.
    pub(super) height: u32,
}

/// The reason why a document was not rendered.
pub(super) enum PreviewError {
    /// The document cannot be rendered, for this reason.
    Document(String),
    /// An internal error. Another try may succeed.
    Internal(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for PreviewError {
    fn from(error: E) -> Self {
        Self::Internal(error.into())
    }
}

/// Renders a document. Dropping the future ends everything that it started.
pub(super) async fn render(
    context: &WorkerContext,
    claimed: &ClaimedPreview,
) -> Result<RenderedDocument, PreviewError> {
    if claimed.size.unsigned_abs() > MAX_DOCUMENT_BYTES {
        let limit = MAX_DOCUMENT_BYTES / 1024 / 1024;
        return Err(PreviewError::Document(format!(
            "the document is larger than {limit} MiB"
        )));
    }
    let path = format!("preview-{}", uuid::Uuid::now_v7());
    let path = context.workspaces.path().join(path);
    let workspace = Workspace::new(path, context.sandbox.identity()?);
    let workspace = Arc::new(workspace);
    stage(context, claimed, &workspace).await?;
    let script = format!("MAX_PAGES={MAX_PAGES} LONG_EDGE={LONG_EDGE}\n{SCRIPT}");
    let directory = workspace.job_directory();
    let running = timeout(TIMEOUT, context.sandbox.run_in(&script, directory));
    let printed = running.await;
    directory.quiesce().await;
    let Ok(printed) = printed else {
        let limit = TIMEOUT.as_secs();
        return Err(PreviewError::Document(format!(
            "rendering took longer than {limit} s"
        )));
    };
    let total_pages = read_result(&printed?).map_err(PreviewError::Document)?;
    let collecting = blocking(move || collect(&workspace, total_pages));
    collecting.await.context("the pages cannot be read")?
}

async fn stage(
    context: &WorkerContext,
    claimed: &ClaimedPreview,
    workspace: &Workspace,
) -> anyhow::Result<()> {
    let name = format!("document.{}", extension(&claimed.content_type));
    let mut file = workspace.create_file(&name, 0o644)?;
    let mut chunks = context.assets.read(&claimed.sha256, None).await?;
    while let Some(chunk) = chunks.try_next().await? {
        file.write_all(&chunk)?;
    }
    Ok(())
}

/// Returns the extension of a document. LibreOffice uses it only where the content leaves the type open.
fn extension(content_type: &str) -> &'static str {
    let kinds = [
        ("wordprocessingml", "docx"),
        ("presentationml", "pptx"),
        ("spreadsheetml", "xlsx"),
        ("opendocument.text", "odt"),
        ("opendocument.presentation", "odp"),
        ("opendocument.spreadsheet", "ods"),
        ("msword", "doc"),
        ("ms-excel", "xls"),
        ("ms-powerpoint", "ppt"),
    ];
    let kind = kinds.iter().find(|(part, _)| content_type.contains(part));
    kind.map_or("rtf", |(_, extension)| extension)
}

/// Returns the number of pages that the script printed, or the reason for a failure.
fn read_result(printed: &str) -> Result<i32, String> {
    let last = printed.lines().last().unwrap_or_default();
    if let Some(reason) = last.strip_prefix("failed ") {
        return Err(reason.to_owned());
    }
    let total = last.strip_prefix("pages ").and_then(|it| it.parse().ok());
    total.ok_or_else(|| "rendering needs more memory or disk than a command may use".to_owned())
}

fn collect(workspace: &Workspace, total_pages: i32) -> Result<RenderedDocument, PreviewError> {
    let pdf = read(workspace, "document.pdf", MAX_PDF_BYTES)?;
    if !pdf.starts_with(b"%PDF-") {
        return Err(PreviewError::Document(
            "LibreOffice wrote no PDF".to_owned(),
        ));
    }
    let shown = total_pages.unsigned_abs().min(MAX_PAGES);
    let pages = (1..=shown).map(|number| {
        let content = read(workspace, &format!("page-{number}.jpg"), MAX_PAGE_BYTES)?;
        let image = shown_image::decode(content.clone());
        let image =
            image.map_err(|error| PreviewError::Document(format!("page {number}: {error}")))?;
        Ok(PreviewPage {
            content,
            width: image.width(),
            height: image.height(),
        })
    });
    Ok(RenderedDocument {
        pdf,
        pages: pages.collect::<Result<_, PreviewError>>()?,
        total_pages,
    })
}

fn read(workspace: &Workspace, name: &str, max_bytes: u64) -> Result<Bytes, PreviewError> {
    let missing = |_| PreviewError::Document(format!("{name} was not written"));
    let (file, size) = workspace.open_file(name).map_err(missing)?;
    if size > max_bytes {
        let limit = max_bytes / 1024 / 1024;
        let reason = format!("{name} is larger than {limit} MiB");
        return Err(PreviewError::Document(reason));
    }
    let mut content = Vec::new();
    file.take(max_bytes).read_to_end(&mut content)?;
    Ok(content.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_is_the_last_line_that_was_printed() {
        assert_eq!(read_result("noise\npages 12\n"), Ok(12));
        let failed = read_result("failed LibreOffice cannot read the document\n");
        assert_eq!(failed.unwrap_err(), "LibreOffice cannot read the document");
        for broken_off in ["", "pages", "pages x\n", "pages 1\nmore"] {
            assert!(read_result(broken_off).unwrap_err().contains("memory"));
        }
    }

    #[test]
    fn every_type_has_its_extension() {
        let word = "application/vnd.openxmlformats-officedocument.wordprocessingml.document";
        assert_eq!(extension(word), "docx");
        let slides = "application/vnd.oasis.opendocument.presentation";
        assert_eq!(extension(slides), "odp");
        assert_eq!(extension("text/rtf"), "rtf");
    }
}
