//! Conversion of messages to a prompt.

use crate::entity::to_markdown;
use crate::split::shorten;
use crate::update::ChatMessage;

/// The maximum number of characters of a quoted message.
const QUOTE_CHARS: usize = 2000;

/// Returns the prompt of messages that belong together: their texts, quoted messages, and the authors of forwarded
/// ones.
pub(crate) fn prompt(messages: &[&ChatMessage], bot_name: &str) -> String {
    let mut parts = Vec::new();
    if let Some(quoted) = messages.first().and_then(|message| quoted(message)) {
        let lines = quoted.lines().map(|line| format!("> {line}"));
        parts.push(lines.collect::<Vec<_>>().join("\n"));
    }
    for message in messages {
        let said = to_markdown(message.said(), message.said_entities());
        let said = without_mention(&said, bot_name);
        let said = said.trim();
        if said.is_empty() {
            continue;
        }
        match &message.forward_origin {
            Some(origin) => parts.push(format!("Forwarded from {}:\n{said}", origin.name())),
            None => parts.push(said.to_owned()),
        }
    }
    parts.join("\n\n")
}

/// Returns the text to which a message replies.
fn quoted(message: &ChatMessage) -> Option<String> {
    let replied = message.reply_to_message.as_ref();
    // In a forum, every message of a thread counts as a reply to the thread's first message.
    let replied = replied.filter(|it| Some(it.message_id) != message.message_thread_id);
    let text = match (&message.quote, replied) {
        (Some(quote), _) => quote.text.as_str(),
        (None, Some(replied)) => replied.said(),
        (None, None) => "",
    };
    Some(shorten(text.trim(), QUOTE_CHARS)).filter(|text| !text.is_empty())
}

/// Whether the text contains `@name`.
pub(crate) fn has_mention(text: &str, name: &str) -> bool {
    find_mention(text, name).is_some()
}

fn without_mention(text: &str, name: &str) -> String {
    match find_mention(text, name) {
        Some(at) => {
            let (before, after) = (&text[..at], &text[at + name.len() + 1..]);
            format!("{}{}", before, after.strip_prefix(' ').unwrap_or(after))
        }
        None => text.to_owned(),
    }
}

fn find_mention(text: &str, name: &str) -> Option<usize> {
    let mention = format!("@{}", name.to_ascii_lowercase());
    let lower = text.to_ascii_lowercase();
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut places = lower.match_indices(&mention).map(|(at, _)| at);
    places.find(|at| !lower[at + mention.len()..].starts_with(is_name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn message(fields: &Value) -> ChatMessage {
        let mut message = json!({"message_id": 9, "chat": {"id": 1}});
        let fields = fields.as_object().unwrap().clone();
        message.as_object_mut().unwrap().extend(fields);
        serde_json::from_value(message).unwrap()
    }

    fn prompt_of(fields: Value) -> String {
        prompt(&[&message(&fields)], "My_Bot")
    }

    #[test]
    fn the_mention_of_the_bot_is_no_part_of_a_prompt() {
        assert_eq!(
            prompt_of(json!({"text": "@my_bot count the lines"})),
            "count the lines"
        );
        assert_eq!(
            prompt_of(json!({"caption": "ask @my_bots"})),
            "ask @my_bots"
        );
        assert!(has_mention("hi @MY_BOT!", "My_Bot") && !has_mention("my_bot", "My_Bot"));
    }

    #[test]
    fn a_reply_quotes_and_a_forwarded_text_says_from_whom() {
        let replied = json!({"message_id": 3, "chat": {"id": 1}, "text": "one\ntwo"});
        let reply = json!({"text": "why?", "reply_to_message": replied});
        assert_eq!(prompt_of(reply), "> one\n> two\n\nwhy?");
        let quote = json!({"text": "why?", "reply_to_message": replied, "quote": {"text": "two"}});
        assert_eq!(prompt_of(quote), "> two\n\nwhy?");
        let topic = json!({"text": "why?", "message_thread_id": 3, "reply_to_message": replied});
        assert_eq!(prompt_of(topic), "why?");
        let origin = json!({"type": "hidden_user", "sender_user_name": "Ann"});
        let forwarded = json!({"text": "news", "forward_origin": origin});
        assert_eq!(prompt_of(forwarded), "Forwarded from Ann:\nnews");
    }

    #[test]
    fn an_album_has_the_captions_of_all_its_files() {
        let album = [
            json!({"caption": "first"}),
            json!({}),
            json!({"caption": "third"}),
        ];
        let album: Vec<_> = album.iter().map(message).collect();
        let album: Vec<_> = album.iter().collect();
        assert_eq!(prompt(&album, "b"), "first\n\nthird");
        assert_eq!(prompt(&album[1..2], "b"), "");
    }
}
