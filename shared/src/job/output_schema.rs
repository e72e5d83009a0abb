//! Output schemas: the JSON Schema of a job's structured result.

mod inline;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::schema::Schema;

pub use inline::ReferenceError;

/// The largest output schema in bytes of JSON.
const MAX_BYTES: usize = 64 * 1024;

/// A JSON Schema (draft 2020-12) for the structured result of a job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(transparent)]
pub struct OutputSchema(Map<String, Value>);

/// The reason why an output schema is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OutputSchemaError {
    /// The schema is not an object.
    #[error("must be a JSON Schema object")]
    NotAnObject,
    /// The schema is too large.
    #[error("must be at most {MAX_BYTES} bytes of JSON")]
    TooLarge,
    /// The schema has an unsupported reference.
    #[error(transparent)]
    Reference(#[from] ReferenceError),
    /// The JSON is not a valid JSON Schema.
    #[error("is not a valid JSON Schema: {0}")]
    Invalid(String),
}

impl OutputSchema {
    /// Checks a schema and its references.
    pub fn parse(source: Map<String, Value>) -> Result<Self, OutputSchemaError> {
        let bytes = serde_json::to_vec(&source).map_or(usize::MAX, |json| json.len());
        if bytes > MAX_BYTES {
            return Err(OutputSchemaError::TooLarge);
        }
        let schema = Self(source);
        schema.compile()?;
        Ok(schema)
    }

    /// Compiles the schema after replacing each reference with its target.
    pub fn compile(&self) -> Result<Schema, OutputSchemaError> {
        let inlined = inline::inline(&self.0)?;
        Schema::compile(inlined).map_err(OutputSchemaError::Invalid)
    }
}

impl TryFrom<Value> for OutputSchema {
    type Error = OutputSchemaError;

    fn try_from(value: Value) -> Result<Self, OutputSchemaError> {
        match value {
            Value::Object(source) => Self::parse(source),
            _ => Err(OutputSchemaError::NotAnObject),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parse(source: Value) -> Result<OutputSchema, OutputSchemaError> {
        OutputSchema::try_from(source)
    }

    #[test]
    fn a_schema_of_definitions_checks_values() {
        let source = json!({
            "type": "object",
            "properties": {"items": {"type": "array", "items": {"$ref": "#/$defs/Item"}}},
            "required": ["items"],
            "$defs": {"Item": {"type": "object", "required": ["price"], "properties": {"price": {"type": "number"}}}},
        });
        let schema = parse(source).unwrap().compile().unwrap();
        schema.check(&json!({"items": [{"price": 1.5}]})).unwrap();
        let faults = schema.check(&json!({"items": [{"price": "1.5"}]}));
        assert_eq!(faults.unwrap_err()[0].0, "/items/0/price");
    }

    #[test]
    fn what_cannot_be_checked_is_refused() {
        let refused = |source: Value| parse(source).unwrap_err().to_string();
        assert_eq!(refused(json!(true)), "must be a JSON Schema object");
        assert!(refused(json!({"type": "objekt"})).contains("objekt"));
        let long = json!({"description": "x".repeat(MAX_BYTES)});
        assert_eq!(refused(long), "must be at most 65536 bytes of JSON");
    }
}
