//! Pages of a file as pictures, rendered in the sandbox. Neither the file nor what renders it is trusted.

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

/// The program that renders, with the one that opens pages in Chromium and the one that makes pages of texts.
const PROGRAM: &str = concat!(
    include_str!("../browser/drive.py"),
    "\n\n",
    include_str!("typeset.py"),
    "\n\n",
    include_str!("render.py")
);
/// The most pictures that are read of one call.
pub(super) const MAX_PICTURES: usize = 30;
/// The largest report.
const MAX_REPORT_BYTES: u64 = 256 * 1024;
/// The folder of the workspace for what tools keep there.
const FOLDER: &str = ".skillet";

/// A request to the program that renders.
#[derive(Serialize)]
pub(super) struct RenderRequest<'a> {
    pub(super) path: &'a str,
    pub(super) source: LookSource,
    pub(super) content_type: &'a str,
    pub(super) pages: Option<&'a str>,
    pub(super) width: Option<u32>,
}

/// RenderedFile pages.
#[derive(Debug)]
pub(super) struct RenderedFile {
    pub(super) report: RenderReport,
    /// The content of the picture of each page.
    pub(super) pictures: Vec<Bytes>,
}

/// What the program says of the file.
#[derive(Debug, Deserialize)]
pub(super) struct RenderReport {
    /// What `total` counts.
    pub(super) unit: String,
    pub(super) total: u64,
    pub(super) shown: Vec<RenderedPage>,
    pub(super) notes: Vec<String>,
}

/// A page that the program has rendered.
#[derive(Debug, Deserialize)]
pub(super) struct RenderedPage {
    /// Its number, or the time of a frame.
    pub(super) label: String,
    pub(super) facts: Vec<String>,
}

/// Renders a file. What fails is told to the model.
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

/// Takes the report and the pictures out of the workspace.
fn collect(workspace: &Arc<Workspace>, prefix: &str, report: &str) -> Option<RenderedFile> {
    let json = take(workspace, report, MAX_REPORT_BYTES);
    let pictures = (1..=MAX_PICTURES)
        .map(|number| take(workspace, &format!("{prefix}-{number}.png"), MAX_FILE_BYTES));
    // All leave the workspace, also those that the report does not name.
    let pictures: Vec<_> = pictures.collect();
    let mut report: RenderReport = serde_json::from_slice(&json?).ok()?;
    report.shown.truncate(MAX_PICTURES);
    let pictures: Option<Vec<_>> = pictures.into_iter().take(report.shown.len()).collect();
    let pictures = pictures.filter(|pictures| !pictures.is_empty())?;
    Some(RenderedFile { report, pictures })
}

/// Reads a file and removes it; `None` if it is no plain file of that size at most.
fn take(workspace: &Workspace, path: &str, max_bytes: u64) -> Option<Bytes> {
    let opened = workspace.open_file(path);
    // It may not be there, which is all that is wanted.
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

    /// Runs the program on a file where no other program is found; returns what it says.
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
            (LookSource::Page, "a.html", "there is no Chromium here"),
            (LookSource::Drawing, "a.svg", "there is no Chromium here"),
            (LookSource::Text, "a.txt", "there is no Chromium here"),
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
