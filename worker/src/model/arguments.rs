//! The arguments of a call, as far as what the model wrote can be read as such.

use serde_json::{Map, Value};

use crate::model::surrogate;

/// Reads arguments into the `input` and `malformed` of a call. `cut` says that the reply reached its
/// cap within this very call.
pub(super) fn parse(text: String, cut: bool) -> (Value, Option<String>) {
    let text = surrogate::join(text);
    let none = || Value::Object(Map::new());
    if text.trim().is_empty() && !cut {
        return (none(), None);
    }
    match serde_json::from_str(&text) {
        Ok(input @ Value::Object(_)) => (input, None),
        Ok(Value::Null) => (none(), None),
        // Some servers quote them once more.
        Ok(Value::String(quoted)) if is_object(&quoted) => parse(quoted, cut),
        Ok(_) => (none(), Some("the arguments are not a JSON object".into())),
        Err(_) if cut => {
            let reason = "the reply was cut at its token limit before the arguments were complete";
            (none(), Some(reason.into()))
        }
        Err(error) => (none(), Some(format!("the arguments are not JSON: {error}"))),
    }
}

fn is_object(text: &str) -> bool {
    matches!(serde_json::from_str(text), Ok(Value::Object(_)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
