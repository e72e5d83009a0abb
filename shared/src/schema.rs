//! JSON Schemas with readable validation errors.

use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::Value;

/// The maximum number of errors that are reported for a value.
const MAX_FAULTS: usize = 20;
/// The longest error message in bytes. A message can repeat the value.
const MAX_FAULT_BYTES: usize = 300;

/// Limits on the compiled size of a pattern and on backtracking, because a short pattern can cause a lot of work.
const MAX_PATTERN_BYTES: usize = 512 * 1024;
const MAX_BACKTRACKS: usize = 100_000;

/// The maximum number of patterns in a schema. All of them are compiled.
const MAX_PATTERNS: usize = 64;

/// A compiled JSON Schema.
#[derive(Clone)]
pub struct Schema {
    source: Arc<Value>,
    validator: Arc<Validator>,
}

/// Counts the values of `pattern` and the keys of `patternProperties`.
fn count_patterns(schema: &Value) -> usize {
    match schema {
        Value::Object(fields) => {
            let counts = fields.iter().map(|(name, value)| match (&**name, value) {
                ("pattern", Value::String(_)) => 1,
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.len() + count_patterns(value)
                }
                _ => count_patterns(value),
            });
            counts.sum()
        }
        Value::Array(items) => items.iter().map(count_patterns).sum(),
        _ => 0,
    }
}

impl Schema {
    /// Compiles a schema. The error says why the schema is invalid.
    pub fn compile(source: Value) -> Result<Self, String> {
        if count_patterns(&source) > MAX_PATTERNS {
            return Err(format!("has more than {MAX_PATTERNS} patterns"));
        }
        let patterns = PatternOptions::fancy_regex()
            .size_limit(MAX_PATTERN_BYTES)
            .backtrack_limit(MAX_BACKTRACKS);
        let options = jsonschema::options().with_pattern_options(patterns);
        let validator = options.build(&source).map_err(|error| error.to_string())?;
        Ok(Self {
            source: Arc::new(source),
            validator: Arc::new(validator),
        })
    }

    /// The schema as JSON.
    pub fn as_value(&self) -> &Value {
        &self.source
    }

    /// The names of the schema's properties.
    pub fn properties(&self) -> impl Iterator<Item = &str> {
        let properties = self.source["properties"].as_object();
        properties.into_iter().flatten().map(|(name, _)| &**name)
    }

    /// The names of the required properties.
    pub fn required(&self) -> impl Iterator<Item = &str> {
        let names = self.source["required"].as_array().into_iter().flatten();
        names.filter_map(Value::as_str)
    }

    /// Checks a value. Each error is a JSON Pointer (RFC 6901) to the location and a message that says what is valid.
    pub fn check(&self, value: &Value) -> Result<(), Vec<(String, String)>> {
        let errors = self.validator.iter_errors(value).take(MAX_FAULTS);
        let faults: Vec<_> = errors.flat_map(|error| self.faults(&error)).collect();
        if faults.is_empty() {
            Ok(())
        } else {
            Err(faults)
        }
    }

    fn faults(&self, error: &ValidationError) -> Vec<(String, String)> {
        let place = error.instance_path().to_string();
        match error.kind() {
            ValidationErrorKind::AdditionalProperties { unexpected } => {
                let known: Vec<_> = self.properties().collect();
                let remedy = if place.is_empty() && !known.is_empty() {
                    format!("is not known; there are: {}", known.join(", "))
                } else {
                    "is not known".to_owned()
                };
                let names = unexpected.iter().take(MAX_FAULTS);
                names
                    .map(|name| (format!("{place}/{}", escape(name)), remedy.clone()))
                    .collect()
            }
            _ => {
                let mut words = error.to_string();
                if words.len() > MAX_FAULT_BYTES {
                    // The masked message leaves out the value, so truncation keeps the useful part.
                    words = error.masked().to_string();
                    words.truncate(words.floor_char_boundary(MAX_FAULT_BYTES));
                }
                vec![(place, words)]
            }
        }
    }
}

/// Escapes a name for use in a JSON Pointer.
fn escape(name: &str) -> String {
    let name = &name[..name.floor_char_boundary(MAX_FAULT_BYTES)];
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Schema").field(&self.source).finish()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Schema {
        let source = json!({
            "type": "object",
            "properties": {
                "command": {"type": "string"},
                "timeout": {"type": "integer", "minimum": 1},
                "tags": {"type": "array", "items": {"type": "string"}},
            },
            "required": ["command"],
            "additionalProperties": false,
        });
        Schema::compile(source).unwrap()
    }

    fn faults(value: &Value) -> Vec<(String, String)> {
        schema().check(value).unwrap_err()
    }

    #[test]
    fn what_is_wrong_is_named_with_its_place() {
        schema()
            .check(&json!({"command": "ls", "timeout": 3}))
            .unwrap();
        let wrong = json!({"comand": "ls", "a/b~c": 1, "timeout": 0, "tags": ["a", 5]});
        let faults = faults(&wrong);
        let said = |place: &str, words: &str| {
            let found = |(it, what): &(String, String)| it == place && what.contains(words);
            assert!(faults.iter().any(found), "{place}: {words}\n{faults:#?}");
        };
        said("/comand", "is not known; there are: command, timeout, tags");
        said("/a~1b~0c", "is not known");
        said("/timeout", "0 is less than the minimum of 1");
        said("/tags/1", r#"5 is not of type "string""#);
        said("", r#""command" is a required property"#);
        assert_eq!(faults.len(), 5);
    }

    #[test]
    fn a_huge_value_makes_no_huge_error() {
        let huge = json!({"command": vec!["x".repeat(1000); 1000], "tags": vec![0; 100_000]});
        let faults = faults(&huge);
        assert!(faults.len() <= MAX_FAULTS);
        assert!(faults.iter().all(|(_, what)| what.len() <= MAX_FAULT_BYTES));
        assert!(faults[0].1.contains(r#"is not of type "string""#));
        let wide: serde_json::Map<_, _> = (0..1000)
            .map(|n| (format!("{n}{}", "x".repeat(1000)), json!(n)))
            .collect();
        assert!(format!("{:?}", schema().check(&wide.into())).len() < 20_000);
    }

    #[test]
    fn a_schema_has_a_limited_number_of_patterns() {
        let with = |count: usize| {
            let patterns = (0..count).map(|number| (format!("^{number}$"), json!(true)));
            let patterns: serde_json::Map<_, _> = patterns.collect();
            json!({"properties": {"a": {"patternProperties": patterns}, "b": {"pattern": "x"}}})
        };
        assert!(Schema::compile(with(MAX_PATTERNS - 1)).is_ok());
        let error = Schema::compile(with(MAX_PATTERNS)).unwrap_err();
        assert_eq!(error, "has more than 64 patterns");
    }

    #[test]
    fn what_is_no_schema_is_refused() {
        let error = Schema::compile(json!({"type": "objekt"})).unwrap_err();
        assert!(error.contains("objekt"), "{error}");
    }
}
