//! The arguments of a call, parsed from the text that the model wrote.

use serde_json::{Map, Value};

use crate::surrogate;

/// The maximum nesting of arguments and of results. In a log they are nested some levels deeper, and a log with more
/// than 127 levels cannot be read back.
pub const MAX_DEPTH: usize = 100;

/// Parses arguments into the `input` and `malformed` of a call. `cut` means that the reply reached
/// its cap within this call.
pub(super) fn parse(text: String, cut: bool) -> (Value, Option<String>) {
    let text = surrogate::join(text);
    let none = || Value::Object(Map::new());
    if text.trim().is_empty() && !cut {
        return (none(), None);
    }
    match serde_json::from_str(&text) {
        Ok(input @ Value::Object(_)) if is_deeper(&input, MAX_DEPTH) => {
            let reason = format!("the arguments are nested deeper than {MAX_DEPTH} levels");
            (none(), Some(reason))
        }
        Ok(input @ Value::Object(_)) => (input, None),
        Ok(Value::Null) => (none(), None),
        // Some servers quote the arguments once more.
        Ok(Value::String(quoted)) if is_object(&quoted) => parse(quoted, cut),
        Ok(_) => (none(), Some("the arguments are not a JSON object".into())),
        Err(_) if cut => {
            let reason = "the reply was cut at its token limit before the arguments were complete; write long texts \
                          to files in several calls";
            (none(), Some(reason.into()))
        }
        Err(error) => (none(), Some(format!("the arguments are not JSON: {error}"))),
    }
}

/// Whether a value is nested deeper than this.
pub fn is_deeper(value: &Value, levels: usize) -> bool {
    let inner_is = |inner: &Value| levels == 0 || is_deeper(inner, levels - 1);
    match value {
        Value::Array(list) => levels == 0 || list.iter().any(inner_is),
        Value::Object(fields) => levels == 0 || fields.values().any(inner_is),
        _ => false,
    }
}

fn is_object(text: &str) -> bool {
    matches!(serde_json::from_str(text), Ok(Value::Object(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::event::{Event, EventData};
    use shared::message::{AssistantMessage, Block, StopReason, Tokens, ToolCall};

    use super::*;

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    /// A log that cannot be read back would prevent the job from ever continuing.
    #[test]
    fn the_deepest_arguments_can_be_read_back_from_a_log() {
        let (input, malformed) = parse(nested(MAX_DEPTH), false);
        assert_eq!(malformed, None);
        let call = ToolCall {
            call_id: "1".to_owned(),
            tool: "shell.exec".to_owned(),
            input,
            malformed,
        };
        let reply = EventData::MessageCompleted(AssistantMessage {
            content: vec![Block::ToolCall(call)],
            stop_reason: StopReason::ToolUse,
            usage: Tokens::default(),
            model: "openai/gpt".to_owned(),
        });
        let (kind, data) = reply.to_stored();
        let event = Event {
            seq: 1,
            kind,
            at: chrono::Utc::now(),
            attempt: 1,
            data: serde_json::value::RawValue::from_string(data).unwrap(),
        };
        assert!(event.parse().is_ok());
        let (input, malformed) = parse(nested(MAX_DEPTH + 1), false);
        assert_eq!(input, json!({}));
        assert!(malformed.unwrap().contains("nested deeper than 100"));
    }

    #[test]
    fn only_a_json_object_is_an_input() {
        let cases = [
            (r#"{"a":1}"#, false, json!({"a": 1}), None),
            (r#"{"a":1}"#, true, json!({"a": 1}), None),
            ("", false, json!({}), None),
            (r#""{\"a\":1}""#, false, json!({"a": 1}), None),
            (" null ", false, json!({}), None),
            ("[1]", false, json!({}), Some("not a JSON object")),
            (r#""text""#, false, json!({}), Some("not a JSON object")),
            (r#"{"a":"#, false, json!({}), Some("not JSON: EOF")),
            (r#"{"a":"#, true, json!({}), Some("cut at its token limit")),
            ("", true, json!({}), Some("cut at its token limit")),
        ];
        for (text, cut, input, reason) in cases {
            let (read, malformed) = parse(text.into(), cut);
            assert_eq!(read, input, "{text}");
            assert_eq!(malformed.is_some(), reason.is_some(), "{text}");
            assert!(
                malformed
                    .unwrap_or_default()
                    .contains(reason.unwrap_or_default()),
                "{text}"
            );
        }
    }
}
