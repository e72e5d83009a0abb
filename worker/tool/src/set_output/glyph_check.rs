//! Characters of an output that no font can draw. The check runs in the sandbox, with the scripts of the skills.

use std::time::Duration;

use serde_json::json;
use shared::asset::Asset;

use crate::call::{Call, ToolError};
use crate::python;

/// The check for documents, pages and drawings, which readers see in the fonts of their machine.
const TEXT_PROGRAM: &str = concat!(
    include_str!("../../../../skills/docx/scripts/glyphs.py"),
    "\n\n",
    include_str!("text_glyphs.py")
);
/// The check for PDF, which contains its fonts.
const PDF_PROGRAM: &str = concat!(
    include_str!("../../../../skills/pdf/scripts/pdf_glyphs.py"),
    "\n\n",
    include_str!("pdf_glyphs.py")
);
/// The maximum size of a file that is checked.
const MAX_CHECKED_BYTES: i64 = 20 * 1024 * 1024;
/// The timeout of the check.
const TIMEOUT: Duration = Duration::from_secs(20);

/// Returns a warning for the model, or `None` if every character can be drawn or the check is not possible here.
pub(super) async fn warning(
    path: &str,
    asset: &Asset,
    call: &Call<'_>,
) -> Result<Option<String>, ToolError> {
    let Some(program) = program(&asset.content_type) else {
        return Ok(None);
    };
    if asset.size > MAX_CHECKED_BYTES {
        return Ok(None);
    }
    let arguments = json!({"path": path});
    let finished = python::finish_inline(program, &arguments, TIMEOUT, call).await?;
    let has_failed = python::failure(&finished, TIMEOUT).is_some();
    let lost = finished.stdout.shown.text.trim();
    if has_failed || lost.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!(
        "Warning: readers see empty boxes, or nothing, instead of these characters, because no font draws them:\n{lost}\n\
         Replace them, or use a font that has them, and call set_output again."
    )))
}

fn program(content_type: &str) -> Option<&'static str> {
    let is_office =
        content_type.contains("openxmlformats") || content_type.contains("opendocument");
    match content_type {
        "application/pdf" => Some(PDF_PROGRAM),
        "text/html" | "image/svg+xml" => Some(TEXT_PROGRAM),
        _ if is_office => Some(TEXT_PROGRAM),
        _ => None,
    }
}
