//! Images in tool results, which a client may omit from later requests.

use serde_json::{Value, json};

/// The text before an image of a tool result, in the format whose results are only text.
const ORIGIN: &str = "[Image of the tool result above: ";
/// The text that replaces an image for a model without image support.
const MENTION: &str = "[This model does not support images: ";

/// Removes the images of tool results from a canonical message. Returns `None` if nothing else is left.
pub(super) fn without(mut message: Value) -> Option<Value> {
    if message["role"] != "user" {
        return Some(message);
    }
    let blocks = message["content"].as_array_mut()?;
    for block in blocks
        .iter_mut()
        .filter(|block| block["type"] == "tool_result")
    {
        let content = match &block["content"] {
            Value::String(text) => vec![json!({"type": "text", "text": text})],
            Value::Array(inner) => inner.iter().filter(|it| !is_image(it)).cloned().collect(),
            _ => continue,
        };
        block["content"] = Value::Array(content);
    }
    let mut is_announced = false;
    blocks.retain_mut(|block| {
        let is_of_result = std::mem::take(&mut is_announced) && block["type"] == "image_url";
        let Some(text) = block["text"].as_str() else {
            return !is_of_result;
        };
        is_announced = text.starts_with(ORIGIN);
        let lines = text.split("\n\n").filter(|line| !line.starts_with(MENTION));
        let rest = lines.collect::<Vec<_>>().join("\n\n");
        let is_empty = rest.is_empty() && !text.is_empty();
        block["text"] = Value::String(rest);
        !is_announced && !is_empty
    });
    (!blocks.is_empty()).then_some(message)
}

fn is_image(block: &Value) -> bool {
    let text = block["text"].as_str();
    block["type"] == "image" || text.is_some_and(|text| text.starts_with(MENTION))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn user(content: Value) -> Value {
        json!({"role": "user", "content": content})
    }

    #[test]
    fn a_result_is_the_same_with_its_image_and_without() {
        let text = json!({"type": "text", "text": "grey"});
        let result = |content: Value| {
            user(json!([{"type": "tool_result", "tool_use_id": "a", "content": content}]))
        };
        let plain = without(result(json!("grey")));
        assert_eq!(
            without(result(json!([text, {"type": "image", "source": {}}]))),
            plain
        );
        let mention = json!({"type": "text", "text": format!("{MENTION}x is not shown.]")});
        assert_eq!(without(result(json!([text, mention]))), plain);
        assert_ne!(without(result(json!("green"))), plain);
    }

    #[test]
    fn a_message_of_images_alone_vanishes_and_inputs_stay() {
        let origin = json!({"type": "text", "text": format!("{ORIGIN}x]")});
        let image =
            json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}});
        let note = json!({"type": "text", "text": "Note."});
        assert_eq!(without(user(json!([origin, image]))), None);
        assert_eq!(
            without(user(json!([origin, image, note]))),
            Some(user(json!([note])))
        );
        let input = user(json!([note, image]));
        assert_eq!(without(input.clone()), Some(input));
    }
}
