//! The schema of a skill's parameters.

use serde_json::{Value, json};

use super::{SkillError, field};
use crate::schema::Schema;

/// The maximum size of the schema in bytes.
const MAX_BYTES: usize = 16 * 1024;
/// Keywords that refer to another schema.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];

/// Parses the declaration. Without a declaration, the skill has no parameters.
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
        let problem = format!("`{keyword}` is not supported; inline the schema");
        return Err(field(NAME, &problem));
    }
    Schema::compile(schema).map_err(|error| field(NAME, &error))
}

/// The first reference keyword in a schema. References can be recursive, so validation could take far too long.
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
