//! The `Content-Disposition` header of form parts, as browsers (WHATWG), curl, and clients of RFC 7578 send it.

use percent_encoding::percent_decode_str;

/// The name and the file name of a form part.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Disposition {
    pub(super) name: String,
    /// The file name from the client. It is untrusted, and may be a path.
    pub(super) file_name: Option<String>,
}

impl Disposition {
    /// Parses the header value. Returns `None` if it is not that of a form part, or has no name.
    pub(super) fn parse(value: &[u8]) -> Option<Self> {
        let value = decode(value);
        let (kind, mut rest) = value.split_once(';').unwrap_or((&value, ""));
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return None;
        }
        let (mut name, mut plain, mut extended) = (None, None, None);
        while let Some((key, after)) = rest.split_once('=') {
            let (value, after) = read_value(after.trim_start());
            match &*key.trim().to_ascii_lowercase() {
                "name" => name = Some(value),
                "filename" => plain = Some(unescape_percent(&value)),
                "filename*" => extended = decode_extended(&value),
                _ => {}
            }
            rest = after;
        }
        Some(Self {
            name: name?,
            // `filename*` takes precedence: clients send it for names that `filename` cannot represent.
            file_name: extended.or(plain),
        })
    }
}

/// Decodes UTF-8, or else Latin-1, which pages in a legacy encoding send.
fn decode(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => bytes.iter().copied().map(char::from).collect(),
    }
}

/// Reads a parameter value. Returns the value, and the text after the next semicolon.
fn read_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (token, rest) = text.split_once(';').unwrap_or((text, ""));
        return (token.trim().to_owned(), rest);
    };
    // A file name from a browser may end with a backslash, which then escapes nothing.
    let end = closing_quote(quoted)
        .or_else(|| quoted.rfind('"'))
        .unwrap_or(quoted.len());
    let (value, rest) = quoted.split_at(end);
    let rest = rest.split_once(';').map_or("", |(_, rest)| rest);
    (unescape_backslashes(value), rest)
}

/// Returns the index of the closing quote.
fn closing_quote(quoted: &str) -> Option<usize> {
    let mut is_escaped = false;
    quoted.bytes().position(|byte| {
        let ends = byte == b'"' && !is_escaped;
        is_escaped = byte == b'\\' && !is_escaped;
        ends
    })
}

/// Unescapes `\"` and `\\`, as curl and RFC 2616 define them. A backslash before any other character is kept, as
/// browsers send it.
fn unescape_backslashes(value: &str) -> String {
    let mut plain = String::with_capacity(value.len());
    let mut chars = value.chars().peekable();
    while let Some(char) = chars.next() {
        match chars.peek() {
            Some('"' | '\\') if char == '\\' => plain.extend(chars.next()),
            _ => plain.push(char),
        }
    }
    plain
}

/// Decodes the three characters that browsers percent-encode in names.
fn unescape_percent(name: &str) -> String {
    name.replace("%22", "\"")
        .replace("%0D", "\r")
        .replace("%0A", "\n")
}

/// Decodes a value such as `UTF-8''gr%C3%B6%C3%9Fe.txt` (RFC 5987).
fn decode_extended(value: &str) -> Option<String> {
    let mut parts = value.splitn(3, '\'');
    let (charset, text) = (parts.next()?, parts.nth(1)?);
    let bytes: Vec<_> = percent_decode_str(text).collect();
    if charset.eq_ignore_ascii_case("utf-8") {
        String::from_utf8(bytes).ok()
    } else {
        Some(decode(&bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_name(parameters: &[u8]) -> Option<String> {
        let value = [b"form-data; name=\"file\"; ", parameters].concat();
        let disposition = Disposition::parse(&value).unwrap();
        assert_eq!(disposition.name, "file");
        disposition.file_name
    }

    #[test]
    fn a_file_name_is_read_as_its_client_meant_it() {
        let cases: [(&[u8], &str); 15] = [
            (b"filename=\"a.txt\"", "a.txt"),
            (b"filename=a.txt", "a.txt"),
            (b"FileName = \"a;b=c.txt\" ; x=y", "a;b=c.txt"),
            ("filename=\"größe.txt\"".as_bytes(), "größe.txt"),
            (b"filename=\"gr\xf6\xdfe.txt\"", "größe.txt"),
            (b"filename=\"a\\b.txt\"", "a\\b.txt"),
            (
                b"filename=\"C:\\Users\\x\\doc.txt\"",
                "C:\\Users\\x\\doc.txt",
            ),
            (b"filename=\"C:\\\\temp\\\\a.txt\"", "C:\\temp\\a.txt"),
            (b"filename=\"a \\\"b\\\".txt\"", "a \"b\".txt"),
            (b"filename=\"a %22b%22.txt\"", "a \"b\".txt"),
            (b"filename=\"50%.txt\"", "50%.txt"),
            (b"filename=\"folder\\\"", "folder\\"),
            (b"filename*=UTF-8''gr%C3%B6%C3%9Fe.txt", "größe.txt"),
            (b"filename*=iso-8859-1'de'gr%F6%DFe.txt", "größe.txt"),
            (
                b"filename=\"groesse.txt\"; filename*=utf-8''gr%C3%B6%C3%9Fe.txt",
                "größe.txt",
            ),
        ];
        for (parameters, expected) in cases {
            let found = file_name(parameters);
            let shown = String::from_utf8_lossy(parameters);
            assert_eq!(found.as_deref(), Some(expected), "{shown}");
        }
        assert_eq!(file_name(b"x=y"), None);
    }

    #[test]
    fn what_is_no_part_of_a_form_is_refused() {
        for value in [
            "",
            "form-data",
            "form-data; filename=\"a.txt\"",
            "attachment; name=\"file\"",
        ] {
            assert_eq!(Disposition::parse(value.as_bytes()), None, "{value}");
        }
    }
}
