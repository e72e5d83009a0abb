//! The text of the question about a tool call, and its answers.

use std::fmt::Write;

use serde_json::Value;
use shared::approval::Approval;

/// The maximum length of a question. A note replaces the rest.
const MAX_CHARS: usize = 20_000;

/// A parsed answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PromptAnswer {
    Yes,
    No(Option<String>),
    Nothing,
}

/// Parses an answer: yes, no, or the reason for a denial. Any other single word is not an answer, because it may be a
/// mistyped `yes` and a denial cannot be undone.
pub(super) fn understand(line: &str) -> PromptAnswer {
    let line = line.trim();
    match line.to_lowercase().as_str() {
        "" => PromptAnswer::Nothing,
        "y" | "yes" => PromptAnswer::Yes,
        "n" | "no" => PromptAnswer::No(None),
        _ if !line.contains(char::is_whitespace) => PromptAnswer::Nothing,
        _ => PromptAnswer::No(Some(line.to_owned())),
    }
}

/// Formats the tool call with all of its arguments. The arguments come from a model, so only visible characters reach
/// the terminal.
pub(crate) fn question(approval: &Approval) -> String {
    let mut text = format!("? {} wants to run", plain(&approval.tool));
    let arguments = approval.input.as_object();
    for (name, value) in arguments.into_iter().flatten() {
        let value = match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let value = plain(&value);
        let value = value.trim_end();
        if value.contains('\n') {
            let _ = write!(
                text,
                "\n  {}:\n    {}",
                plain(name),
                value.replace('\n', "\n    ")
            );
        } else {
            let _ = write!(text, "\n  {}: {value}", plain(name));
        }
    }
    let chars = text.chars().count();
    if chars > MAX_CHARS {
        let shown: String = text.chars().take(MAX_CHARS).collect();
        let rest = chars - MAX_CHARS;
        return format!(
            "{shown}\n  … and {rest} characters more: skillet approvals list --json shows all"
        );
    }
    text
}

/// The text with control characters, bidirectional controls and invisible characters escaped.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for char in text.chars() {
        let is_hidden = char.is_control()
            || matches!(char, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}');
        if char == '\n' || !is_hidden {
            plain.push(char);
        } else if char == '\t' {
            plain.push_str("    ");
        } else {
            plain.extend(char.escape_unicode());
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn asked(input: Value) -> String {
        let approval = json!({
            "id": "appr_00000000000070008000000000000000",
            "job_id": "job_00000000000070008000000000000001",
            "call_id": "c",
            "tool": "shell.exec",
            "input": input,
            "status": "pending",
            "requested_at": "2026-01-01T00:00:00Z",
            "expires_at": "2026-01-02T00:00:00Z",
            "resolved_at": null,
            "reason": null,
            "resolved_by": null,
        });
        question(&serde_json::from_value(approval).unwrap())
    }

    #[test]
    fn a_question_shows_every_argument_and_no_trick_of_the_terminal() {
        let input =
            json!({"command": "ls\nrm -rf \u{1b}[8m/\u{202e}x\r", "cwd": "a", "timeout": 5});
        assert_eq!(
            asked(input),
            "? shell.exec wants to run\n  command:\n    ls\n    rm -rf \\u{1b}[8m/\\u{202e}x\\u{d}\n  cwd: a\n  \
             timeout: 5"
        );
        let long = asked(json!({"content": "x".repeat(30_000)}));
        assert!(
            long.contains("characters more: skillet approvals list --json"),
            "{long}"
        );
    }

    #[test]
    fn a_yes_is_one_word_and_a_reason_against_is_several() {
        assert_eq!(understand(" Y\n"), PromptAnswer::Yes);
        assert_eq!(understand("yes\n"), PromptAnswer::Yes);
        assert_eq!(understand("no\n"), PromptAnswer::No(None));
        assert_eq!(understand("\n"), PromptAnswer::Nothing);
        assert_eq!(understand("yess\n"), PromptAnswer::Nothing);
        assert_eq!(
            understand("yes, but not there\n"),
            PromptAnswer::No(Some("yes, but not there".into()))
        );
    }
}
