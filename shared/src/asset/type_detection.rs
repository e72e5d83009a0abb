//! Detection of media types. The kind of an output follows from its media type.

const TEXT: &str = "text/plain";
const BYTES: &str = "application/octet-stream";
/// The number of bytes from which a media type is detected.
pub const HEAD_BYTES: usize = 8 * 1024;

/// Detects the media type of a file from its first bytes, and from its name where the bytes are ambiguous.
///
/// The name alone never makes a file an image or an HTML page. So a file served as an image or a page really is one.
pub fn content_type_of(name: &str, content: &[u8]) -> String {
    let head = &content[..content.len().min(HEAD_BYTES)];
    let by_name = mime_guess::from_path(name).first_raw();
    let is_text = is_text(head);
    let is_named_page = by_name == Some("text/html");
    if let Some(page) = markup(head, is_named_page).filter(|_| is_text) {
        return page.to_owned();
    }
    let sniffed = infer::get(head).map(|kind| kind.mime_type());
    match sniffed.filter(|sniffed| !sniffed.starts_with("text/")) {
        // Office files, EPUB and many other formats are ZIP archives.
        Some("application/zip") => by_name
            .filter(|guess| is_zip_based(guess))
            .unwrap_or("application/zip"),
        Some(sniffed) => sniffed,
        None if is_text => by_name.filter(|guess| is_textual(guess)).unwrap_or(TEXT),
        None if may_be_text(head) => by_name.filter(|guess| is_textual(guess)).unwrap_or(BYTES),
        None => BYTES,
    }
    .to_owned()
}

/// Detects HTML and SVG by the first element. In a file with the name of an HTML page, any first element counts: many
/// pages begin with a heading.
fn markup(head: &[u8], is_named_page: bool) -> Option<&'static str> {
    let text = String::from_utf8_lossy(head)
        .trim_start_matches('\u{feff}')
        .to_ascii_lowercase();
    let mut rest = text.trim_start();
    // An XML declaration, comments and a document type can come first.
    while let Some(end) = prologue_end(rest) {
        rest = rest[end..].trim_start();
    }
    if text.trim_start().starts_with("<!doctype html") || rest.starts_with("<html") {
        Some("text/html")
    } else if rest.starts_with("<svg") {
        Some("image/svg+xml")
    } else if is_named_page && begins_with_element(rest) && !text.trim_start().starts_with("<?xml")
    {
        Some("text/html")
    } else {
        None
    }
}

/// Whether the text begins with an HTML tag such as `<h1>` or `<p class=…`.
fn begins_with_element(text: &str) -> bool {
    let Some(tag) = text.strip_prefix('<') else {
        return false;
    };
    let name = tag.trim_start_matches(|char: char| char.is_ascii_alphanumeric() || char == '-');
    let begins = tag.starts_with(|char: char| char.is_ascii_alphabetic());
    begins && name.starts_with(|char: char| char == '>' || char == '/' || char.is_whitespace())
}

fn prologue_end(text: &str) -> Option<usize> {
    let close = match text {
        text if text.starts_with("<!--") => "-->",
        text if text.starts_with("<?xml") => "?>",
        text if text.starts_with("<!doctype") => ">",
        _ => return None,
    };
    text.find(close).map(|start| start + close.len())
}

fn is_text(head: &[u8]) -> bool {
    let valid = match std::str::from_utf8(head) {
        Ok(_) => true,
        // The head can end in the middle of a character.
        Err(error) => error.error_len().is_none(),
    };
    valid && !head.contains(&0)
}

/// Whether the bytes can be text in a legacy single-byte encoding or UTF-16, which spreadsheet programs still write.
fn may_be_text(head: &[u8]) -> bool {
    let is_control = |byte: &u8| byte.is_ascii_control() && !b"\t\n\x0c\r".contains(byte);
    head.starts_with(b"\xff\xfe") || head.starts_with(b"\xfe\xff") || !head.iter().any(is_control)
}

fn is_zip_based(content_type: &str) -> bool {
    ["openxmlformats", "opendocument", "epub", "java-archive"]
        .iter()
        .any(|part| content_type.contains(part))
}

/// Whether the media type is a text type other than HTML and SVG.
pub fn is_textual(content_type: &str) -> bool {
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
    // SVG and HTML are detected by content only.
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
        let cases: [(&str, &[u8], &str); 25] = [
            ("a.csv", b"name\nM\xfcller\n", "text/csv"),
            ("a.csv", b"\xff\xfea\0\n\0", "text/csv"),
            ("a.dat", b"M\xfcller", "application/octet-stream"),
            ("a.csv", b"M\xfcller\0\x01", "application/octet-stream"),
            (
                "a.svg",
                b"<?xml version='1.0'?>\n<!-- drawn -->\n<svg>",
                "image/svg+xml",
            ),
            (
                "a.svg",
                b"<!DOCTYPE svg PUBLIC '-//W3C//DTD SVG 1.1//EN' 'x'><svg>",
                "image/svg+xml",
            ),
            ("a.xml", b"<?xml version='1.0'?><feed/>", "text/xml"),
            ("a.pdf", b"%PDF-1.4 text", "application/pdf"),
            ("a.png", png, "image/png"),
            ("a.html", png, "image/png"),
            ("a.png", b"hello", "text/plain"),
            ("a.csv", b"a,b\n1,2\n", "text/csv"),
            ("a.json", b"{}", "application/json"),
            ("report.html", b"<!DOCTYPE html><p>x", "text/html"),
            ("report.html", b"no page at all", "text/plain"),
            ("report.html", b"<!-- Q3 -->\n<h1>Sold</h1>", "text/html"),
            ("report.htm", b"<p class=x>Sold", "text/html"),
            ("report.html", b"<3 this", "text/plain"),
            ("report.html", b"<x@example.org> wrote", "text/plain"),
            ("report.html", b"<?xml version='1.0'?><feed/>", "text/plain"),
            ("report.txt", b"<h1>Sold</h1>", "text/plain"),
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
