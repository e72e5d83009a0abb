//! Schemas of MCP tools that are safe to check arguments with.
//!
//! References can make a small schema large. Definitions that each name the next one twice double the work with each
//! definition. A definition that references itself multiplies the work by the size of the arguments.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use shared::schema::Schema;

/// The maximum number of parts of a schema with expanded references.
const MAX_PARTS: u64 = 10_000;
/// Keywords that reference something in another way than `$ref`, or change the target of a reference.
const OTHER_WAYS: [&str; 5] = [
    "$dynamicRef",
    "$recursiveRef",
    "$id",
    "$anchor",
    "$dynamicAnchor",
];

/// Returns the schema that checks the arguments of a tool. It is the tool's own schema or, if that would be unsafe,
/// one of any object, because the server also checks the arguments. An error says why the schema is invalid.
pub(super) fn compile(schema: &Map<String, Value>) -> Result<Schema, String> {
    let whole = Schema::compile(Value::Object(schema.clone()))?;
    if is_small(schema) {
        Ok(whole)
    } else {
        Schema::compile(json!({"type": "object"}))
    }
}

/// Whether all references lead to definitions of the schema itself, none is recursive, and the schema with
/// expanded references is small.
fn is_small(schema: &Map<String, Value>) -> bool {
    let mut sizes = HashMap::new();
    let rest = schema.iter().filter(|(key, _)| !is_definitions(key));
    let parts = rest.map(|(key, value)| parts(key, value, schema, &mut sizes));
    sum(parts).is_some()
}

/// The number of parts of each definition. `None` while it is being counted, or if the definition is unsafe.
type Sizes<'a> = HashMap<&'a str, Option<u64>>;

fn parts<'a>(
    key: &str,
    value: &'a Value,
    root: &'a Map<String, Value>,
    sizes: &mut Sizes<'a>,
) -> Option<u64> {
    match (key, value) {
        ("$ref", Value::String(target)) => definition(target, root, sizes),
        (key, _) if OTHER_WAYS.contains(&key) => None,
        (_, Value::Object(fields)) => {
            let fields = fields.iter();
            sum(fields.map(|(key, value)| parts(key, value, root, sizes)))
        }
        (_, Value::Array(items)) => {
            let items = items.iter();
            sum(items.map(|item| parts("", item, root, sizes)))
        }
        _ => Some(1),
    }
}

fn definition<'a>(
    target: &'a str,
    root: &'a Map<String, Value>,
    sizes: &mut Sizes<'a>,
) -> Option<u64> {
    if let Some(size) = sizes.get(target) {
        return *size;
    }
    let (list, name) = target.strip_prefix("#/")?.split_once('/')?;
    let found = root.get(list).filter(|_| is_definitions(list))?.get(name)?;
    sizes.insert(target, None);
    let size = parts("", found, root, sizes);
    sizes.insert(target, size);
    size
}

fn is_definitions(key: &str) -> bool {
    matches!(key, "$defs" | "definitions")
}

fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    let mut total = 1;
    for part in parts {
        total += part?;
        if total > MAX_PARTS {
            return None;
        }
    }
    Some(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_small(schema: Value) -> bool {
        super::is_small(schema.as_object().unwrap())
    }

    #[test]
    fn a_schema_that_stays_small_is_checked_with_and_any_other_is_not() {
        let point = json!({"type": "object", "required": ["x"]});
        assert!(is_small(
            json!({"type": "object", "properties": {"a": {"type": "string"}}})
        ));
        assert!(is_small(json!({
            "properties": {"from": {"$ref": "#/$defs/point"}, "to": {"$ref": "#/definitions/point"}},
            "$defs": {"point": point.clone()},
            "definitions": {"point": {"$ref": "#/$defs/point"}},
        })));
        for unsafe_one in [
            json!({"properties": {"a": {"$ref": "#"}}}),
            json!({"allOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"items": {"$ref": "#/$defs/b"}}, "b": {"$ref": "#/$defs/a"}}}),
            json!({"$ref": "#/$defs/none"}),
            json!({"$ref": "https://example.com/schema"}),
            json!({"properties": {"a": {"$dynamicRef": "#a"}}}),
            json!({"properties": {"a": {"$id": "b"}}}),
        ] {
            assert!(!is_small(unsafe_one.clone()), "{unsafe_one}");
        }
    }

    #[test]
    fn definitions_that_double_each_other_are_seen_at_once() {
        let chain = |length: usize| {
            let twice = |n: usize| {
                let next = json!({"$ref": format!("#/$defs/{}", n + 1)});
                (n.to_string(), json!({"allOf": [next, next]}))
            };
            let mut definitions: Map<_, _> = (0..length).map(twice).collect();
            definitions.insert(length.to_string(), json!({"type": "object"}));
            json!({"$ref": "#/$defs/0", "$defs": definitions})
        };
        assert!(is_small(chain(8)));
        assert!(!is_small(chain(1000)));
        let long = compile(chain(1000).as_object().unwrap()).unwrap();
        assert!(long.check(&json!({})).is_ok());
    }

    #[test]
    fn without_its_own_schema_a_tool_takes_any_object() {
        let compiled = |schema: Value| compile(schema.as_object().unwrap());
        let endless = compiled(
            json!({"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#"}}}),
        );
        let endless = endless.unwrap();
        assert!(endless.check(&json!({})).is_ok() && endless.check(&json!([])).is_err());
        let plain = compiled(json!({"type": "object", "required": ["a"]})).unwrap();
        assert!(plain.check(&json!({})).is_err());
        assert!(compiled(json!({"type": "objekt"})).is_err());
    }
}
