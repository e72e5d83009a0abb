//! Characters that a stream splits over two JSON strings.
//!
//! A server that cuts text by UTF-16 units, as JavaScript does, may end one piece with the first half of a
//! surrogate pair (`"\ud83c"`) and start the next piece with the second half. JSON allows that, but a Rust string
//! cannot contain a half. The parser therefore replaces a half with a stand-in of two characters, and the halves
//! are joined when both have arrived.

use std::char::{REPLACEMENT_CHARACTER, decode_utf16};

use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::message::{AssistantMessage, Block};

/// The first character of a stand-in: a noncharacter, which no text should contain.
const MARK: char = '\u{fdd0}';
/// The difference between the second character of a stand-in, which is a private-use character, and the half.
const OFFSET: u32 = 0xF_0000;
/// The length of `\ud83c`.
const ESCAPE_BYTES: usize = 6;

/// Parses JSON that may contain single halves of surrogate pairs.
pub(super) fn parse<T: DeserializeOwned>(json: &str) -> Result<T, serde_json::Error> {
    serde_json::from_str(json).or_else(|error| match with_stand_ins(json) {
        Some(json) => serde_json::from_str(&json),
        None => Err(error),
    })
}

/// Joins the halves in a text. U+FFFD replaces a single half.
pub(super) fn join(text: String) -> String {
    if !text.contains(MARK) {
        return text;
    }
    let mut joined = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some(at) = rest.find(MARK) {
        joined.push_str(&rest[..at]);
        rest = &rest[at..];
        let (char, after) = match half(rest) {
            Some((first, after)) => {
                let pair =
                    half(after).and_then(|(second, after)| Some((char_of(first, second)?, after)));
                pair.unwrap_or((REPLACEMENT_CHARACTER, after))
            }
            None => (MARK, &rest[MARK.len_utf8()..]),
        };
        joined.push(char);
        rest = after;
    }
    joined + rest
}

/// Joins the halves in a reply. The arguments of its calls were joined before they were parsed.
pub(super) fn join_message(message: &mut AssistantMessage) {
    for block in &mut message.content {
        match block {
            Block::Text { text } => join_in(text),
            Block::Reasoning { text, provider } => {
                join_in(text);
                provider.iter_mut().for_each(join_value);
            }
            Block::ToolCall(_) => {}
        }
    }
}

/// Joins the halves in the pieces of one text as they arrive.
#[derive(Default)]
pub(super) struct Joiner {
    /// A first half at the end of the last piece.
    held: String,
}

impl Joiner {
    /// Adds a piece. Returns the text that can be shown now, which may be empty.
    pub(super) fn push(&mut self, piece: String) -> String {
        let mut text = piece;
        if !self.held.is_empty() {
            text.insert_str(0, &std::mem::take(&mut self.held));
        }
        if let Some(at) = text.rfind(MARK)
            && let Some((0xD800..=0xDBFF, "")) = half(&text[at..])
        {
            self.held = text.split_off(at);
        }
        join(text)
    }

    /// Returns the rest at the end of the text.
    pub(super) fn finish(&mut self) -> String {
        join(std::mem::take(&mut self.held))
    }
}

fn join_in(text: &mut String) {
    *text = join(std::mem::take(text));
}

fn join_value(value: &mut Value) {
    match value {
        Value::String(text) => join_in(text),
        Value::Array(values) => values.iter_mut().for_each(join_value),
        Value::Object(fields) => fields.values_mut().for_each(join_value),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns the JSON with stand-ins for single halves, or `None` if there are no single halves.
fn with_stand_ins(json: &str) -> Option<String> {
    let mut text = String::with_capacity(json.len());
    let mut has_any = false;
    let mut rest = json;
    while let Some(at) = rest.find('\\') {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        let kept = match escaped(rest) {
            Some(first @ 0xD800..=0xDFFF) => {
                let second = escaped(&rest[ESCAPE_BYTES..]);
                if second.is_some_and(|second| char_of(first, second).is_some()) {
                    2 * ESCAPE_BYTES
                } else {
                    has_any = true;
                    text.push(MARK);
                    text.extend(char::from_u32(OFFSET + u32::from(first)));
                    rest = &rest[ESCAPE_BYTES..];
                    0
                }
            }
            // Both characters of `\\`, so that the second one does not start an escape.
            _ => rest.char_indices().nth(2).map_or(rest.len(), |(at, _)| at),
        };
        text.push_str(&rest[..kept]);
        rest = &rest[kept..];
    }
    text.push_str(rest);
    has_any.then_some(text)
}

/// Returns the UTF-16 unit of the escape at the start of the JSON.
fn escaped(json: &str) -> Option<u16> {
    let digits = json.strip_prefix("\\u")?.get(..4)?;
    let is_hex = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    is_hex.then(|| u16::from_str_radix(digits, 16).ok())?
}

/// Returns the half whose stand-in is at the start of the text, and the rest of the text.
fn half(text: &str) -> Option<(u16, &str)> {
    let mut chars = text.strip_prefix(MARK)?.chars();
    let unit = u32::from(chars.next()?).checked_sub(OFFSET)?;
    let unit = u16::try_from(unit).ok()?;
    (0xD800..=0xDFFF)
        .contains(&unit)
        .then_some((unit, chars.as_str()))
}

fn char_of(first: u16, second: u16) -> Option<char> {
    decode_utf16([first, second]).next()?.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text that is shown after each piece and at the end. Each piece is the content of a JSON string.
    fn shown(pieces: &[&str]) -> Vec<String> {
        let mut joiner = Joiner::default();
        let mut shown: Vec<_> = pieces
            .iter()
            .map(|piece| joiner.push(parse(&format!("\"{piece}\"")).unwrap()))
            .collect();
        shown.push(joiner.finish());
        shown
    }

    #[test]
    fn halves_in_two_pieces_become_one_character() {
        assert_eq!(shown(&[r"a\ud83c", r"\uDF89b"]), ["a", "🎉b", ""]);
        assert_eq!(shown(&[r"\ud83c", "", r"\udf89"]), ["", "", "🎉", ""]);
        assert_eq!(shown(&[r"\ud83c\udf89", "x"]), ["🎉", "x", ""]);
        assert_eq!(shown(&["🎉", r"\u00fc\n"]), ["🎉", "ü\n", ""]);
    }

    #[test]
    fn a_half_that_stays_alone_is_replaced() {
        assert_eq!(shown(&[r"a\ud83c", "b"]), ["a", "\u{fffd}b", ""]);
        assert_eq!(shown(&[r"a\ud83c"]), ["a", "\u{fffd}"]);
        assert_eq!(shown(&[r"\udf89a"]), ["\u{fffd}a", ""]);
        assert_eq!(
            shown(&[r"\udf89\ud83c", "x"]),
            ["\u{fffd}", "\u{fffd}x", ""]
        );
        assert_eq!(shown(&[r"\ud83c\ud83c", r"\udf89"]), ["\u{fffd}", "🎉", ""]);
        assert_eq!(shown(&[r"\ud83cx\udf89"]), ["\u{fffd}x\u{fffd}", ""]);
    }

    #[test]
    fn what_only_looks_like_a_half_stays_as_it_is() {
        assert_eq!(shown(&[r"\\ud83c", r"\\udf89"]), [r"\ud83c", r"\udf89", ""]);
        // The single half makes the parser use stand-ins for the whole string.
        assert_eq!(shown(&[r"\\ud83c \ud83c"]), [r"\ud83c ", "\u{fffd}"]);
        assert_eq!(
            shown(&["\u{fdd0}\u{fd83c} \u{fdd0}x"]).concat(),
            "\u{fffd} \u{fdd0}x"
        );
    }

    #[test]
    fn what_is_no_json_is_refused_with_or_without_halves() {
        for wrong in [
            r#""\ud83c"#,
            r#"{"a":"\ud83c""#,
            r#""\ud83""#,
            r#""\u+123""#,
            "\\",
            "",
        ] {
            assert!(parse::<Value>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn thoughts_are_joined_in_the_form_that_goes_back_to_the_provider() {
        let text: String = parse(r#""\ud83c""#).unwrap();
        let more: String = parse(r#""\udf89""#).unwrap();
        let whole = text + &more;
        let mut message = AssistantMessage {
            content: vec![Block::Reasoning {
                text: whole.clone(),
                provider: Some(serde_json::json!({"details": [{"text": whole}]})),
            }],
            stop_reason: shared::message::StopReason::EndTurn,
            usage: shared::message::Tokens::default(),
            model: "m".into(),
        };
        join_message(&mut message);
        let expected = Block::Reasoning {
            text: "🎉".into(),
            provider: Some(serde_json::json!({"details": [{"text": "🎉"}]})),
        };
        assert_eq!(message.content, [expected]);
    }
}
