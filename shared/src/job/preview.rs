//! Titles and previews of prompts for lists of jobs.

/// The longest title of a job.
pub const MAX_TITLE_CHARS: usize = 200;
/// The longest title that is derived from a prompt.
const MAX_DERIVED_CHARS: usize = 80;
/// The longest preview of a prompt.
const MAX_PREVIEW_CHARS: usize = 200;

/// Derives the title of a job that was submitted without one. The title is the first line of the prompt that contains
/// a letter or digit and does not begin a code block.
pub fn title(prompt: &str) -> String {
    let words = |line: &&str| !line.starts_with("```") && line.chars().any(char::is_alphanumeric);
    let line = prompt.lines().map(str::trim).find(words);
    shorten(line.unwrap_or_else(|| prompt.trim()), MAX_DERIVED_CHARS)
}

/// Returns the beginning of a prompt on one line.
pub fn preview(prompt: &str) -> String {
    let words = prompt.split_whitespace();
    // Every word has at least one character, so more words than this cannot fit.
    let words: Vec<_> = words.take(MAX_PREVIEW_CHARS).collect();
    shorten(&words.join(" "), MAX_PREVIEW_CHARS)
}

/// Shortens the text to `most` characters. An ellipsis marks the cut.
fn shorten(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some(_) => {
            let kept: String = text.chars().take(most - 1).collect();
            format!("{}…", kept.trim_end())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_the_first_line_with_words() {
        assert_eq!(
            title("\n  \n# Sales report\nWith a chart."),
            "# Sales report"
        );
        assert_eq!(title("```bash\necho hi\n```"), "echo hi");
        assert_eq!(title("…"), "…");
        assert_eq!(title(&"ab ".repeat(40)), format!("{}a…", "ab ".repeat(26)));
    }

    #[test]
    fn a_preview_is_one_short_line() {
        assert_eq!(
            preview("Crop it\n\n  to a\tcircle. "),
            "Crop it to a circle."
        );
        let long = preview(&"ü".repeat(500_000));
        assert_eq!(long.chars().count(), 200);
        assert!(long.ends_with("ü…"));
    }
}
