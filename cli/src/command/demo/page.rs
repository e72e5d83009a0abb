//! The HTML page with the results of all jobs.

use std::fmt::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::step::DemoStep;
use crate::html::escape;

/// A completed job.
pub(super) struct PageEntry {
    pub(super) step: &'static DemoStep,
    /// The final text of the job.
    pub(super) text: String,
    pub(super) files: Vec<PathBuf>,
}

const STYLE: &str = "
:root { color-scheme: light dark; --ink: #22303c; --pale: #667788; --line: #d5dadf; --accent: #b5541f; --ground: #fff }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e9ee; --pale: #9aa8b5; --line: #3a4650; --accent: #e08a55; --ground: #161c21 } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 1000px; margin: 48px auto; padding: 0 20px }
h1 { font-size: 32px; margin-bottom: 4px } h2 { font-size: 19px; margin: 0 0 8px } a { color: var(--accent) }
section { border-top: 1px solid var(--line); padding: 24px 0 } p { color: var(--pale); margin: 4px 0 12px } code { font-size: 14px }
img, video, iframe { display: block; max-width: 100%; margin: 12px 0; border: 1px solid var(--line); border-radius: 6px }
iframe { width: 100%; height: 460px; background: #fff } audio { display: block; width: 100%; margin: 12px 0 }
pre { white-space: pre-wrap; overflow-wrap: anywhere; overflow-y: auto; font-size: 13px; line-height: 1.4; max-height: 320px; padding: 12px; border: 1px solid var(--line); border-radius: 6px }
";

/// Writes `index.html` next to the files and returns its path.
pub(super) fn write(folder: &Path, entries: &[PageEntry]) -> anyhow::Result<PathBuf> {
    let path = folder.join("index.html");
    std::fs::create_dir_all(folder)
        .and_then(|()| std::fs::write(&path, render(entries)))
        .with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

fn render(entries: &[PageEntry]) -> String {
    let mut page = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>Skillet demo</title>\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><style>{STYLE}</style></head><body>\n\
         <h1>Results</h1>\n<p>{} Skillet jobs. The commands of each job ran in a separate sandbox.</p>\n",
        entries.len()
    );
    for PageEntry { step, text, files } in entries {
        let files: String = files.iter().map(|file| show(file)).collect();
        // Writing to a `String` does not fail.
        let _ = write!(
            page,
            "<section><h2>{}</h2><p>skill <code>{}</code></p>\n{files}<details{}><summary>Output</summary><pre>{}</pre></details></section>\n",
            step.what,
            step.skill,
            if files.is_empty() { " open" } else { "" },
            escape(text),
        );
    }
    page + "</body></html>\n"
}

/// The HTML that links to a file, and shows it if a browser can.
fn show(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let name = escape(&name);
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let seen = match &*extension.to_ascii_lowercase() {
        "png" | "jpg" | "jpeg" | "gif" | "webp" | "svg" => {
            format!("<img src=\"{name}\" alt=\"{name}\">")
        }
        "mp4" | "webm" => format!("<video controls preload=\"metadata\" src=\"{name}\"></video>"),
        "mp3" | "wav" | "flac" | "ogg" => format!("<audio controls src=\"{name}\"></audio>"),
        "html" | "pdf" => format!("<iframe src=\"{name}\" title=\"{name}\"></iframe>"),
        _ => String::new(),
    };
    format!("{seen}<a href=\"{name}\">{name}</a><br>\n")
}

#[cfg(test)]
mod tests {
    use super::super::step::FIRST;
    use super::*;

    #[test]
    fn files_are_shown_by_their_kind_and_no_text_becomes_markup() {
        let entry = PageEntry {
            step: &FIRST[0],
            text: "a <b> & c".to_owned(),
            files: ["x/a.png", "x/b.mp4", "x/c.mp3", "x/d.pdf", "x/e \"1\".docx"]
                .map(PathBuf::from)
                .into(),
        };
        let page = render(&[entry]);
        for part in [
            "<img src=\"a.png\"",
            "<video controls preload=\"metadata\" src=\"b.mp4\"",
            "<audio controls src=\"c.mp3\"",
            "<iframe src=\"d.pdf\"",
            "<a href=\"e &quot;1&quot;.docx\"",
            "a &lt;b&gt; &amp; c",
        ] {
            assert!(page.contains(part), "{part} in {page}");
        }
    }
}
