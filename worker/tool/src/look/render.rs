//! Pages of a file as pictures, rendered in the sandbox. Neither the file nor the renderer is trusted.

use std::io::Read;
use std::sync::Arc;

use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use worker_model::image_scaling::MAX_FILE_BYTES;
use worker_workspace::Workspace;

use super::source::LookSource;
use crate::call::{Call, Done, ToolError, blocking};
use crate::python;

/// The renderer, with the programs that open pages in Chromium and typeset texts.
const PROGRAM: &str = concat!(
    include_str!("../browser/drive.py"),
    "\n\n",
    include_str!("typeset.py"),
    "\n\n",
    include_str!("render.py")
);
/// The maximum number of pictures that are read per call.
pub(super) const MAX_PICTURES: usize = 30;
/// The maximum size of a report.
const MAX_REPORT_BYTES: u64 = 256 * 1024;
/// The folder of the workspace in which tools store their files.
const FOLDER: &str = ".skillet";

/// A request to the renderer.
#[derive(Serialize)]
pub(super) struct RenderRequest<'a> {
    pub(super) path: &'a str,
    pub(super) source: LookSource,
    pub(super) content_type: &'a str,
    pub(super) pages: Option<&'a str>,
    pub(super) width: Option<u32>,
}

/// The rendered pages of a file.
#[derive(Debug)]
pub(super) struct RenderedFile {
    pub(super) report: RenderReport,
    /// The encoded picture of each page.
    pub(super) pictures: Vec<Bytes>,
}

/// The renderer's report about the file.
#[derive(Debug, Deserialize)]
pub(super) struct RenderReport {
    /// The unit of `total`.
    pub(super) unit: String,
    pub(super) total: u64,
    pub(super) shown: Vec<RenderedPage>,
    pub(super) notes: Vec<String>,
}

/// A page that was rendered.
#[derive(Debug, Deserialize)]
pub(super) struct RenderedPage {
    /// The number of the page, or the time of a frame.
    pub(super) label: String,
    pub(super) facts: Vec<String>,
}

/// Renders a file. A failure of the renderer is a result for the model.
pub(super) async fn render(
    request: &RenderRequest<'_>,
    call: &Call<'_>,
) -> Result<Result<RenderedFile, Done>, ToolError> {
    let prefix = format!("{FOLDER}/{}-look", call.number);
    let report = format!("{prefix}.json");
    let mut arguments = serde_json::to_value(request).expect("a request has string keys");
    arguments["prefix"] = Value::from(&*prefix);
    arguments["report"] = Value::from(&*report);
    let finished = python::finish(PROGRAM, &arguments, call.timeout, call).await?;
    let failed = python::failure(&finished, call.timeout);
    let workspace = call.context.workspace.clone();
    let collected = blocking(move || collect(&workspace, &prefix, &report)).await?;
    if let Some(failed) = failed {
        return Ok(Err(failed));
    }
    let broken = || ToolError::Reply("the file could not be rendered".to_owned());
    collected.map(Ok).ok_or_else(broken)
}

/// Reads the report and the pictures, and removes them from the workspace.
fn collect(workspace: &Arc<Workspace>, prefix: &str, report: &str) -> Option<RenderedFile> {
    let json = take(workspace, report, MAX_REPORT_BYTES);
    let pictures = (1..=MAX_PICTURES)
        .map(|number| take(workspace, &format!("{prefix}-{number}.png"), MAX_FILE_BYTES));
    // All pictures are removed, including those that the report does not name.
    let pictures: Vec<_> = pictures.collect();
    let mut report: RenderReport = serde_json::from_slice(&json?).ok()?;
    report.shown.truncate(MAX_PICTURES);
    let pictures: Option<Vec<_>> = pictures.into_iter().take(report.shown.len()).collect();
    let pictures = pictures.filter(|pictures| !pictures.is_empty())?;
    Some(RenderedFile { report, pictures })
}

/// Reads a file and removes it. Returns `None` if it is not a regular file or is too large.
fn take(workspace: &Workspace, path: &str, max_bytes: u64) -> Option<Bytes> {
    let opened = workspace.open_file(path);
    // The file may not exist.
    let _ = workspace.remove_file(path);
    let (file, _) = opened.ok()?;
    let mut content = Vec::new();
    file.take(max_bytes + 1).read_to_end(&mut content).ok()?;
    (content.len() as u64 <= max_bytes).then(|| content.into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Runs the renderer on a file where no other program is found. Returns its error.
    fn refusal(source: LookSource, name: &str) -> String {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(name), "content").unwrap();
        let arguments = serde_json::json!({
            "path": name, "source": source, "content_type": "image/svg+xml", "pages": null, "width": null,
            "prefix": "look", "report": "look.json",
        });
        std::fs::write(folder.path().join("arguments.json"), arguments.to_string()).unwrap();
        let python = ["/usr/bin/python3", "/usr/local/bin/python3"];
        let Some(python) = python
            .into_iter()
            .find(|it| std::path::Path::new(it).exists())
        else {
            panic!("this test needs python3");
        };
        let done = Command::new(python)
            .args(["-I", "-c", PROGRAM, "arguments.json"])
            .current_dir(folder.path())
            .env("PATH", folder.path())
            .output()
            .unwrap();
        assert_eq!(done.status.code(), Some(1), "{done:?}");
        String::from_utf8(done.stderr).unwrap()
    }

    #[test]
    fn a_missing_program_is_named_with_its_package() {
        for (source, name, words) in [
            (
                LookSource::Pdf,
                "a.pdf",
                "the program pdfinfo is missing (Debian package poppler-utils)",
            ),
            (
                LookSource::Office,
                "a.docx",
                "the program soffice is missing (Debian package libreoffice)",
            ),
            (
                LookSource::Film,
                "a.mp4",
                "the program ffprobe is missing (Debian package ffmpeg)",
            ),
            (
                LookSource::Page,
                "a.html",
                "Chromium is not installed on this worker",
            ),
            (
                LookSource::Drawing,
                "a.svg",
                "Chromium is not installed on this worker",
            ),
            (
                LookSource::Text,
                "a.txt",
                "Chromium is not installed on this worker",
            ),
            (
                LookSource::Sound,
                "a.mp3",
                "the program ffprobe is missing (Debian package ffmpeg)",
            ),
        ] {
            let said = refusal(source, name);
            assert!(said.contains(words), "{name}: {said}");
        }
    }
}
