//! The JSON Schemas to which providers can constrain a message.

use serde_json::Value;
use shared::provider::Provider;

use crate::vendor;

/// The maximum depth of a schema.
const MAX_DEPTH: usize = 10;
/// The keywords that all providers support.
const KEYWORDS: [&str; 9] = [
    "additionalProperties",
    "anyOf",
    "const",
    "description",
    "enum",
    "items",
    "properties",
    "required",
    "type",
];
/// Keywords that constrain nothing.
const ANNOTATIONS: [&str; 3] = ["title", "$schema", "$comment"];

/// Whether messages of the provider's models can be constrained to a schema: as configured, or else only
/// on the vendor's own hosts.
pub(crate) fn is_offered(provider: &Provider, vendors: &[&str]) -> bool {
    let configured = provider.structured_output;
    configured.unwrap_or_else(|| vendor::is_host_of(&provider.base_url, vendors))
}

/// Whether the schema uses only the part of JSON Schema that all providers support: an object whose properties are
/// all required, at every level, without bounds or patterns.
pub(crate) fn is_strict(schema: &Value) -> bool {
    schema["type"] == "object" && schema.get("anyOf").is_none() && is_supported(schema, MAX_DEPTH)
}

fn is_supported(schema: &Value, depth: usize) -> bool {
    let Some(fields) = schema.as_object().filter(|_| depth > 0) else {
        return false;
    };
    let all = |value: &Value| {
        let values: Vec<_> = match value {
            Value::Object(fields) => fields.values().collect(),
            Value::Array(items) => items.iter().collect(),
            _ => return false,
        };
        values.into_iter().all(|it| is_supported(it, depth - 1))
    };
    let is_typed = ["type", "anyOf", "enum", "const"]
        .iter()
        .any(|it| fields.contains_key(*it));
    is_typed
        && (schema["type"] != "object" || is_closed(schema))
        && fields
            .iter()
            .all(|(keyword, value)| match keyword.as_str() {
                "items" => is_supported(value, depth - 1),
                "properties" | "anyOf" => all(value),
                keyword => KEYWORDS.contains(&keyword) || ANNOTATIONS.contains(&keyword),
            })
}

/// Whether an object has exactly its declared properties.
fn is_closed(schema: &Value) -> bool {
    let required = schema["required"].as_array();
    let is_required = |name: &String| required.is_some_and(|it| it.iter().any(|it| it == name));
    let properties = schema["properties"].as_object();
    schema["additionalProperties"] == false
        && properties.is_some_and(|it| !it.is_empty() && it.keys().all(is_required))
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::provider::ProviderKind;

    use super::*;

    fn object(properties: &Value) -> Value {
        let names: Vec<_> = properties.as_object().unwrap().keys().collect();
        json!({"type": "object", "properties": properties, "required": names, "additionalProperties": false})
    }

    #[test]
    fn closed_objects_of_plain_types_are_strict() {
        let item =
            object(&json!({"name": {"type": "string"}, "price": {"type": ["number", "null"]}}));
        let order = object(&json!({
            "items": {"type": "array", "items": item, "description": "The items."},
            "state": {"enum": ["new", "paid"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
        }));
        assert!(is_strict(&order));
    }

    #[test]
    fn what_only_some_providers_support_is_not_strict() {
        let open =
            json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]});
        let optional = json!({
            "type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": false,
        });
        let bounded = object(&json!({"a": {"type": "integer", "minimum": 1}}));
        let combined = object(&json!({"a": {"allOf": [{"type": "string"}]}}));
        let untyped = object(&json!({"a": {"description": "Anything."}}));
        let tuple = object(&json!({"a": {"type": "array", "items": false}}));
        let list = json!({"type": "array", "items": {"type": "string"}});
        for schema in [open, optional, bounded, combined, untyped, tuple, list] {
            assert!(!is_strict(&schema), "{schema}");
        }
        let mut deep = json!({"type": "string"});
        for _ in 0..MAX_DEPTH {
            deep = object(&json!({ "a": deep }));
        }
        assert!(!is_strict(&deep));
    }

    #[test]
    fn only_vendors_are_sent_a_schema_unless_configured() {
        let at = |url: &str| Provider::new(ProviderKind::Openai, url.to_owned(), None);
        let vendors = ["openai.com"];
        assert!(is_offered(&at("https://api.openai.com/v1"), &vendors));
        assert!(!is_offered(&at("https://api.notopenai.com/v1"), &vendors));
        assert!(!is_offered(&at("http://127.0.0.1:11434/v1"), &vendors));
        let configured = Provider {
            structured_output: Some(true),
            ..at("http://127.0.0.1:11434/v1")
        };
        assert!(is_offered(&configured, &vendors));
    }
}
