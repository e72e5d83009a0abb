//! The most similar part of a file, for an edit whose text was not found.

/// The maximum length of a line that is shown.
const MAX_SHOWN_BYTES: usize = 300;

/// Returns the message that a text is missing. It names a line that differs only in white space, if there is one.
pub(super) fn not_found(path: &str, text: &str, wanted: &str) -> String {
    let missing = format!("old_string is not in `{path}`");
    let crlf = wanted.replace("\r\n", "\n").replace('\n', "\r\n");
    if crlf != wanted && text.contains(&crlf) {
        return format!("{missing}: the lines there end in \\r\\n, and those of old_string in \\n");
    }
    let Some(first) = wanted.lines().find(|line| !line.trim().is_empty()) else {
        return format!("{missing}: read the file, and copy the text from there");
    };
    let squeezed = squeeze(first);
    let near = text
        .lines()
        .enumerate()
        .find(|(_, line)| squeeze(line).contains(&squeezed));
    match near {
        Some((number, line)) if line.contains(first) => format!(
            "{missing}: its first line is there in line {number} (counted from 0), but what follows differs. Read the file, and copy the text from there"
        ),
        Some((number, line)) => format!(
            "{missing}. Line {number} (counted from 0) differs in white space only: it is {}, and old_string has {}",
            shown(line),
            shown(first)
        ),
        None => format!("{missing}: read the file, and copy the text from there"),
    }
}

/// Returns the line with each run of white space replaced by one space.
fn squeeze(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the line as a JSON string, which shows the difference between tabs and spaces.
fn shown(line: &str) -> String {
    let part = &line[..line.floor_char_boundary(MAX_SHOWN_BYTES)];
    let dots = if part.len() < line.len() { "…" } else { "" };
    format!("{}{dots}", serde_json::Value::from(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_in_white_space_is_shown() {
        let text = "fn main() {\n\tlet  x = 1;\n}\n";
        let error = not_found("a.rs", text, "    let x = 1;\n}");
        assert_eq!(
            error,
            r#"old_string is not in `a.rs`. Line 1 (counted from 0) differs in white space only: it is "\tlet  x = 1;", and old_string has "    let x = 1;""#
        );
        let error = not_found("a.rs", "a\r\nb\r\n", "a\nb");
        assert!(error.contains(r"end in \r\n"), "{error}");
        let error = not_found("a.rs", text, "fn main() {\n}");
        assert!(
            error.contains("line 0 (counted from 0), but what follows differs"),
            "{error}"
        );
        for wanted in ["nothing like it", " \n "] {
            assert!(not_found("a.rs", text, wanted).ends_with("copy the text from there"));
        }
    }

    #[test]
    fn a_very_long_line_is_shown_in_part() {
        let line = format!("é\t{}", "x".repeat(10_000));
        let error = not_found("a", &line, &line.replace('\t', " "));
        assert!(error.len() < 1000, "{error}");
    }
}
