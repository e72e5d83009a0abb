//! Schemas of MCP tools that are safe to check arguments with.
//!
//! References are what makes a small schema a large one: definitions that each name the next one twice double the
//! work with each, and one that leads back to itself multiplies it by all that the arguments hold.

use std::collections::HashMap;

use serde_json::{Map, Value, json};
use shared::schema::Schema;

/// The most parts that a schema may come to with its references written out.
const MAX_PARTS: u64 = 10_000;
/// Keywords that lead somewhere else than `$ref`, or change where that leads.
const OTHER_WAYS: [&str; 5] = [
    "$dynamicRef",
    "$recursiveRef",
    "$id",
    "$anchor",
    "$dynamicAnchor",
];

/// The schema that checks the arguments of a tool: its own, or, if that would be unsafe, one of any object; the server
/// checks them, too. An error says why it is no schema.
pub(super) fn compile(schema: &Map<String, Value>) -> Result<Schema, String> {
    let whole = Schema::compile(Value::Object(schema.clone()))?;
    if is_small(schema) {
        Ok(whole)
    } else {
        Schema::compile(json!({"type": "object"}))
    }
}

/// Whether all references lead to definitions of the schema's own, none back to itself, and it stays small
/// with them written out.
fn is_small(schema: &Map<String, Value>) -> bool {
    let mut sizes = HashMap::new();
    let rest = schema.iter().filter(|(key, _)| !is_definitions(key));
    let parts = rest.map(|(key, value)| parts(key, value, schema, &mut sizes));
    sum(parts).is_some()
}

/// What a definition comes to; `None` while it is being looked at.
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
