//! Splitting of long text into several messages.

use crate::rich_text::{CodeStyle, RichText, TextRun, utf16_length};

/// A break at a line or a word must leave at least one part in this many of a message full.
const LEAST_FULL: usize = 2;

/// Packs blocks into messages of at most `limit` characters, as Telegram counts them. A longer block is split at a
/// line, else at a word, else anywhere.
pub(crate) fn split(blocks: Vec<RichText>, limit: usize) -> Vec<RichText> {
    let mut messages = Vec::new();
    let mut message = RichText::default();
    for block in blocks {
        let length = block.length();
        let separator = if message.runs.is_empty() { 0 } else { 2 };
        if message.length() + separator + length <= limit {
            if separator > 0 {
                message = message.text("\n\n");
            }
            message.append(block);
            continue;
        }
        messages.push(std::mem::take(&mut message));
        let mut rest = block;
        while rest.length() > limit {
            let (head, tail) = cut(rest, limit);
            messages.push(head);
            rest = tail;
        }
        message = rest;
    }
    messages.push(message);
    messages.retain(|message| !message.is_blank());
    messages
}

/// Cuts text in two parts. The first part has at most `limit` characters.
fn cut(text: RichText, limit: usize) -> (RichText, RichText) {
    let whole = text.plain_text();
    let end = end_of(&whole, limit);
    let head_text = &whole[..end];
    let at = break_of(head_text).unwrap_or(end);
    let (mut head, mut tail) = (RichText::default(), RichText::default());
    let mut place = 0;
    for TextRun { text, style } in text.runs {
        let here = at.saturating_sub(place).min(text.len());
        place += text.len();
        head.push(&text[..here], &style);
        let rest = &text[here..];
        // White space at the break is dropped. In a code block, that is only the line break.
        let is_first = tail.runs.is_empty() && here < text.len();
        let rest = match style.code {
            CodeStyle::Block(_) if is_first => rest.strip_prefix('\n').unwrap_or(rest),
            CodeStyle::None if is_first => rest.trim_start(),
            _ => rest,
        };
        tail.push(rest, &style);
    }
    (head, tail)
}

/// Returns the byte position at which `limit` characters end.
fn end_of(text: &str, limit: usize) -> usize {
    let mut length = 0;
    for (at, letter) in text.char_indices() {
        length += letter.len_utf16();
        if length > limit {
            return at;
        }
    }
    text.len()
}

/// Returns the last good position for a break, if it is not too close to the start.
fn break_of(text: &str) -> Option<usize> {
    let least = text.len() / LEAST_FULL;
    let breaks = ["\n\n", "\n", " "].into_iter();
    let mut places = breaks.filter_map(|it| text.rfind(it));
    places.find(|at| *at > least)
}

/// Shortens a text to `limit` characters, with an ellipsis if something is missing.
pub(crate) fn shorten(text: &str, limit: usize) -> String {
    if utf16_length(text) <= limit {
        return text.to_owned();
    }
    let end = end_of(text, limit.saturating_sub(1));
    format!("{}…", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::markdown;
    use crate::rich_text::MESSAGE_LIMIT;

    #[test]
    fn one_character_more_than_a_message_makes_two() {
        for (length, messages) in [(0, 0), (1, 1), (4096, 1), (4097, 2), (8192, 2), (8193, 3)] {
            let block = RichText::plain("x".repeat(length));
            let split = split(vec![block], MESSAGE_LIMIT);
            assert_eq!(split.len(), messages, "{length}");
        }
    }

    #[test]
    fn blocks_stay_whole_and_long_ones_break_at_words() {
        let blocks = ["aaa aaa", "bbb", "ccc ccc ccc"].map(RichText::plain);
        let texts = |limit| {
            let split = split(blocks.to_vec(), limit);
            split.iter().map(RichText::plain_text).collect::<Vec<_>>()
        };
        assert_eq!(texts(12), ["aaa aaa\n\nbbb", "ccc ccc ccc"]);
        assert_eq!(texts(8), ["aaa aaa", "bbb", "ccc ccc", "ccc"]);
    }

    #[test]
    fn code_is_code_on_both_sides_of_a_break() {
        let code = RichText::code_block("one\n  two\nthree");
        let split = split(vec![code], 10);
        let html: Vec<_> = split.iter().map(RichText::html).collect();
        assert_eq!(html, ["<pre>one\n  two</pre>", "<pre>three</pre>"]);
    }

    #[test]
    fn an_ellipsis_stands_for_the_rest() {
        assert_eq!(shorten("abc", 3), "abc");
        assert_eq!(shorten("abcd", 3), "ab…");
        assert_eq!(shorten("🥖🥖🥖", 4), "🥖…");
    }

    proptest! {
        #[test]
        fn no_message_is_too_long_and_no_letter_is_lost(text in "(?s)[ -~\n🥖é*`#>|]{0,400}", limit in 4_usize..60) {
            let blocks = markdown::blocks(&text);
            let letters = |text: String| text.chars().filter(|it| !it.is_whitespace()).collect::<String>();
            let before: String = blocks.iter().map(RichText::plain_text).map(letters).collect();
            let messages = split(blocks, limit);
            for message in &messages {
                prop_assert!(message.length() <= limit);
                prop_assert!(!message.is_blank());
            }
            let after: String = messages.iter().map(RichText::plain_text).map(letters).collect();
            prop_assert_eq!(before, after);
        }
    }
}
