//! The conversion of response bodies to text, according to the declared content type.

use encoding_rs::{Encoding, UTF_8};
use shared::asset::content_type_of;

/// The number of bytes of a page that are searched for the name of its encoding.
const HEAD_BYTES: usize = 1024;

/// The kind of a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentKind {
    Page,
    Text,
    Binary,
}

/// Returns the kind of a body: that of the declared content type, unless the bytes cannot be text.
pub(super) fn kind_of(content_type: &str, bytes: &[u8]) -> ContentKind {
    let essence = essence(content_type);
    let essence = if essence.is_empty() {
        content_type_of("", bytes)
    } else {
        essence
    };
    let has_words = [
        "json",
        "xml",
        "javascript",
        "ecmascript",
        "yaml",
        "toml",
        "graphql",
        "x-sh",
        "sql",
        "csv",
    ];
    let subtype = essence.split_once('/').map_or("", |(_, subtype)| subtype);
    let is_image = essence.starts_with("image/") && essence != "image/svg+xml";
    if bytes.contains(&0) && !is_wide(content_type, bytes) {
        ContentKind::Binary
    } else if matches!(&*essence, "text/html" | "application/xhtml+xml") {
        ContentKind::Page
    } else if essence.starts_with("text/")
        || essence == "application/x-www-form-urlencoded"
        || (!is_image && !is_office(subtype) && has_words.iter().any(|word| subtype.contains(word)))
    {
        ContentKind::Text
    } else {
        ContentKind::Binary
    }
}

/// Returns the media type without its parameters.
pub(super) fn essence(content_type: &str) -> String {
    let essence = content_type.split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

/// Whether this is the type of an office file, which contains `xml` although the file is an archive.
fn is_office(subtype: &str) -> bool {
    subtype.contains("openxmlformats") || subtype.contains("opendocument")
}

/// Whether the text is UTF-16, whose letters contain NULs.
fn is_wide(content_type: &str, bytes: &[u8]) -> bool {
    let encoding = encoding_of(content_type, &[]);
    bytes.starts_with(b"\xff\xfe")
        || bytes.starts_with(b"\xfe\xff")
        || encoding.name().starts_with("UTF-16")
}

/// Decodes the bytes to text. A byte order mark takes precedence over the declared encoding.
pub(super) fn decode(content_type: &str, bytes: &[u8]) -> String {
    let (text, _, _) = encoding_of(content_type, bytes).decode(bytes);
    // Databases accept no NULs in text.
    text.replace('\0', "\u{fffd}")
}

fn encoding_of(content_type: &str, bytes: &[u8]) -> &'static Encoding {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let named = charset(content_type).or_else(|| match essence(content_type).as_str() {
        "text/html" | "application/xhtml+xml" => charset(&String::from_utf8_lossy(head)),
        _ => None,
    });
    let encoding = named.and_then(|name| Encoding::for_label(name.as_bytes()));
    encoding.unwrap_or(UTF_8)
}

/// Returns the value after `charset=`.
fn charset(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (_, after) = text.split_once("charset=")?;
    let name = after.trim_start_matches(['"', '\'', ' ']);
    let end = name.find(|char: char| !char.is_ascii_alphanumeric() && !"-_:.".contains(char));
    Some(name[..end.unwrap_or(name.len())].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kind_is_what_the_server_says_unless_it_cannot_be() {
        let cases: [(&str, &[u8], ContentKind); 14] = [
            ("text/html; charset=utf-8", b"x", ContentKind::Page),
            ("application/xhtml+xml", b"x", ContentKind::Page),
            ("", b"<!doctype html><p>x", ContentKind::Page),
            ("", b"hello", ContentKind::Text),
            ("", b"a\0b", ContentKind::Binary),
            ("text/plain", b"a\0b", ContentKind::Binary),
            ("text/plain; charset=utf-16le", b"a\0b\0", ContentKind::Text),
            ("text/plain", b"\xff\xfea\0", ContentKind::Text),
            ("Application/Problem+JSON", b"{}", ContentKind::Text),
            ("image/svg+xml", b"<svg/>", ContentKind::Text),
            ("image/png", b"x", ContentKind::Binary),
            ("application/pdf", b"%PDF", ContentKind::Binary),
            (
                "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
                b"PK",
                ContentKind::Binary,
            ),
            ("application/octet-stream", b"x", ContentKind::Binary),
        ];
        for (content_type, bytes, kind) in cases {
            assert_eq!(
                kind_of(content_type, bytes),
                kind,
                "{content_type} {bytes:?}"
            );
        }
    }

    #[test]
    fn an_encoding_is_taken_from_the_mark_the_header_or_the_page() {
        assert_eq!(
            decode("text/plain; charset=\"ISO-8859-1\"", b"caf\xe9"),
            "café"
        );
        assert_eq!(decode("text/plain", b"caf\xe9\0"), "caf\u{fffd}\u{fffd}");
        assert_eq!(
            decode("text/html", b"<meta charset='windows-1252'>\x80"),
            "<meta charset='windows-1252'>€"
        );
        assert_eq!(decode("text/plain; charset=utf-8", b"\xff\xfea\0"), "a");
        assert_eq!(decode("text/plain; charset=no-such", "é".as_bytes()), "é");
    }
}
