//! Pictures of documents for the report.

use super::check_script::quoted;

/// The script that renders a file as a PNG.
const DRAW: &str = include_str!("draw.sh");

/// Whether the report needs a picture of the file. A browser shows images, films and sounds itself.
pub(super) fn is_needed(content_type: &str, name: &str) -> bool {
    let shown = ["image/", "video/", "audio/"];
    let kinds = [
        "pdf", "html", "htm", "docx", "odt", "rtf", "pptx", "odp", "xlsx", "ods", "epub",
    ];
    let extension = name.rsplit('.').next().unwrap_or_default().to_lowercase();
    !shown.iter().any(|start| content_type.starts_with(start)) && kinds.contains(&&*extension)
}

/// Returns a prompt for `script/bash` that renders the files as `picture-0.png` and so on. If a file cannot be
/// rendered, its picture says so.
pub(super) fn prompt(names: &[&str]) -> String {
    let calls: String = names
        .iter()
        .enumerate()
        .map(|(number, name)| {
            format!(
                "draw {} picture-{number}.png\n",
                quoted(&format!("./{name}"))
            )
        })
        .collect();
    let outputs = (0..names.len()).map(|number| format!("output: picture-{number}.png\n"));
    let outputs: String = outputs.collect();
    format!("```bash\n{DRAW}\n{calls}```\n\n{outputs}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_are_drawn_and_images_are_shown_as_they_are() {
        assert!(is_needed("application/pdf", "a.pdf") && is_needed("text/html", "a.HTML"));
        assert!(!is_needed("image/png", "a.png") && !is_needed("text/plain", "a.txt"));
        let prompt = prompt(&["a.pdf", "it's.html"]);
        assert!(
            prompt.contains("draw './a.pdf' picture-0.png\ndraw './it'\\''s.html' picture-1.png")
        );
        assert!(prompt.ends_with("output: picture-0.png\noutput: picture-1.png\n"));
    }
}
