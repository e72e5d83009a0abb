//! The schema of a skill's parameters.

use serde_json::{Value, json};

use super::{SkillError, field};
use crate::schema::Schema;

/// The largest schema.
const MAX_BYTES: usize = 16 * 1024;
/// The keywords by which one schema refers to another.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Reads the declaration; without one, there are none.
pub(super) fn parameters(value: Option<&str>) -> Result<Schema, SkillError> {
    const NAME: &str = "skillet.parameters";
    let schema: Value = match value {
        None => json!({"type": "object", "properties": {}, "additionalProperties": false}),
        Some(text) if text.len() > MAX_BYTES => {
            return Err(field(NAME, &format!("is larger than {MAX_BYTES} bytes")));
        }
        Some(text) => {
            serde_json::from_str(text).map_err(|error| field(NAME, &error.to_string()))?
        }
    };
    if schema["type"] != "object" {
        return Err(field(NAME, "must be a JSON Schema of type object"));
    }
    if let Some(keyword) = reference(&schema) {
        let problem = format!("refers with `{keyword}`; write out what is there");
        return Err(field(NAME, &problem));
    }
    Schema::compile(schema).map_err(|error| field(NAME, &error))
}

/// The first keyword by which a schema refers to another, or to itself without end: to check a value with one
/// of those is more work than whoever wrote it may cause.
fn reference(schema: &Value) -> Option<&str> {
    match schema {
        Value::Object(fields) => fields.iter().find_map(|(key, value)| {
            let refers = REFERENCES.contains(&&**key) && value.is_string();
            refers.then_some(&**key).or_else(|| reference(value))
        }),
        Value::Array(items) => items.iter().find_map(reference),
        _ => None,
    }
}
