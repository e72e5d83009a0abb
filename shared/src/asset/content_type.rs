use crate::job::OutputKind;

const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";

/// The media type of a file by its first bytes, and by its name where the bytes leave it open.
///
/// A name alone never makes a file an image or a page; so what is served as one, is one.
pub fn content_type_of(name: &str, head: &[u8]) -> String {
    let by_name = mime_guess::from_path(name).first_raw();
    if let Some(kind) = infer::get(head) {
        let sniffed = kind.mime_type();
        // Office files, EPUB and many others are ZIP archives with a convention inside.
        let by_name = by_name.filter(|guess| sniffed == "application/zip" && is_zip_based(guess));
        return by_name.unwrap_or(sniffed).to_owned();
    }
    if !is_text(head) {
        return BYTES.to_owned();
    }
    let start = String::from_utf8_lossy(&head[..head.len().min(1024)])
        .trim_start_matches('\u{feff}')
        .to_lowercase();
    let start = start.trim_start();
    if start.starts_with("<!doctype html") || start.starts_with("<html") {
        return "text/html".to_owned();
    }
    if start.starts_with("<svg") || (start.starts_with("<?xml") && start.contains("<svg")) {
        return "image/svg+xml".to_owned();
    }
    by_name
        .filter(|guess| is_textual(guess))
        .unwrap_or(TEXT)
        .to_owned()
}

/// Whether a file of this media type is an output of this kind.
pub fn fits(kind: OutputKind, content_type: &str) -> bool {
    let (top, _) = content_type.split_once('/').unwrap_or((content_type, ""));
    match kind {
        OutputKind::Image => top == "image",
        OutputKind::Audio => top == "audio",
        OutputKind::Video => top == "video",
        OutputKind::Html => content_type == "text/html",
        OutputKind::Document => {
            !matches!(top, "image" | "audio" | "video") && content_type != BYTES
        }
    }
}

fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The head may end inside a character.
        Err(error) => error.error_len().is_none(),
    };
    valid && !head.contains(&0)
}

fn is_zip_based(content_type: &str) -> bool {
    ["openxmlformats", "opendocument", "epub", "java-archive"]
        .iter()
        .any(|part| content_type.contains(part))
}

fn is_textual(content_type: &str) -> bool {
    let named = [
        "json",
        "xml",
        "javascript",
        "yaml",
        "toml",
        "sql",
        "x-sh",
        "x-tex",
        "rtf",
        "graphql",
    ];
    // SVG and HTML must show themselves in the content.
    let shown = matches!(
        content_type,
        "image/svg+xml" | "text/html" | "application/xhtml+xml"
    );
    !shown
        && (content_type.starts_with("text/")
            || named.iter().any(|part| content_type.contains(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_decides_and_the_name_only_refines() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
        let zip = b"PK\x03\x04\x14\0\0\0";
        let cases: [(&str, &[u8], &str); 11] = [
            ("a.png", png, "image/png"),
            ("a.html", png, "image/png"),
            ("a.png", b"hello", "text/plain"),
            ("a.csv", b"a,b\n1,2\n", "text/csv"),
            ("a.json", b"{}", "application/json"),
            ("report.html", b"<!DOCTYPE html><p>x", "text/html"),
            ("report.html", b"no page at all", "text/plain"),
            (
                "x.txt",
                b"  <svg xmlns='http://www.w3.org/2000/svg'/>",
                "image/svg+xml",
            ),
            (
                "a.xlsx",
                zip,
                "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
            ),
            ("a.png", zip, "application/zip"),
            ("noise.mp3", b"\0\x01\x02\x03", "application/octet-stream"),
        ];
        for (name, head, expected) in cases {
            assert_eq!(content_type_of(name, head), expected, "{name}");
        }
    }
}
