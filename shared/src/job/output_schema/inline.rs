//! Replacement of the references in a JSON Schema with their targets.

use serde_json::{Map, Value, json};

/// The maximum number of nodes in a schema after its references are replaced. It bounds the cost of validation for
/// each node of a value.
const MAX_NODES: usize = 20_000;
/// Keywords that only describe a schema. Next to a reference, they override the keywords of its target.
const ANNOTATIONS: [&str; 5] = ["title", "description", "default", "examples", "deprecated"];
/// Keywords that contain definitions. They are not needed once the references are replaced.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

/// The reason why a reference is refused.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReferenceError {
    /// The target is outside the schema or does not exist.
    #[error("`$ref`: `{0}` is not found; refer to `#/$defs/NAME` of the same schema")]
    NotFound(String),
    /// The reference is recursive.
    #[error("`$ref`: `{0}` refers to itself; recursive schemas are not supported")]
    Recursive(String),
    /// The keyword changes the meaning of references.
    #[error("`{0}` is not supported; use `$ref` with `#/$defs/NAME`")]
    Keyword(&'static str),
    /// The schema is too large after its references are replaced.
    #[error("has more than {MAX_NODES} nodes when each `$ref` is replaced by its target")]
    TooLarge,
}

/// Returns the schema with each reference replaced by its target.
pub(super) fn inline(root: &Map<String, Value>) -> Result<Value, ReferenceError> {
    let mut inlining = Inlining {
        root: Value::Object(root.clone()),
        open: Vec::new(),
        nodes: 0,
    };
    let mut rest = root.clone();
    // The identifier of the root schema does not affect references within it.
    rest.remove("$id");
    for keyword in DEFINITIONS {
        rest.remove(keyword);
    }
    inlining.object(&rest)
}

struct Inlining {
    root: Value,
    /// The references that are being resolved at the current position.
    open: Vec<String>,
    nodes: usize,
}

impl Inlining {
    fn value(&mut self, value: &Value) -> Result<Value, ReferenceError> {
        match value {
            Value::Object(fields) => self.object(fields),
            Value::Array(items) => {
                self.count()?;
                let items = items.iter().map(|item| self.value(item));
                items.collect::<Result<_, _>>().map(Value::Array)
            }
            plain => {
                self.count()?;
                Ok(plain.clone())
            }
        }
    }

    fn object(&mut self, fields: &Map<String, Value>) -> Result<Value, ReferenceError> {
        self.count()?;
        for keyword in [
            "$dynamicRef",
            "$recursiveRef",
            "$id",
            "$anchor",
            "$dynamicAnchor",
        ] {
            // A property of that name has a schema as its value, not a string.
            if fields.get(keyword).is_some_and(Value::is_string) {
                return Err(ReferenceError::Keyword(keyword));
            }
        }
        let mut inlined = Map::new();
        for (key, value) in fields {
            if key != "$ref" || !value.is_string() {
                inlined.insert(key.clone(), self.value(value)?);
            }
        }
        match fields.get("$ref").and_then(Value::as_str) {
            Some(reference) => Ok(merge(self.target(reference)?, inlined)),
            None => Ok(Value::Object(inlined)),
        }
    }

    fn target(&mut self, reference: &str) -> Result<Value, ReferenceError> {
        if self.open.iter().any(|open| open == reference) || reference == "#" {
            return Err(ReferenceError::Recursive(reference.to_owned()));
        }
        let pointer = reference.strip_prefix('#').filter(|it| it.starts_with('/'));
        let target = pointer.and_then(|pointer| self.root.pointer(pointer));
        let Some(target) = target.cloned() else {
            return Err(ReferenceError::NotFound(reference.to_owned()));
        };
        self.open.push(reference.to_owned());
        let inlined = self.value(&target);
        self.open.pop();
        inlined
    }

    fn count(&mut self) -> Result<(), ReferenceError> {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            return Err(ReferenceError::TooLarge);
        }
        Ok(())
    }
}

/// Combines the target of a reference with the keywords next to the reference.
fn merge(target: Value, beside: Map<String, Value>) -> Value {
    if beside.is_empty() {
        return target;
    }
    let only_describes = beside.keys().all(|key| ANNOTATIONS.contains(&&**key));
    match target {
        Value::Object(mut fields) if only_describes => {
            fields.extend(beside);
            Value::Object(fields)
        }
        target => {
            let mut all = vec![target];
            all.push(Value::Object(beside));
            json!({ "allOf": all })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inlined(source: &Value) -> Result<Value, ReferenceError> {
        inline(source.as_object().unwrap())
    }

    #[test]
    fn a_reference_is_replaced_by_its_target() {
        let source = json!({
            "$id": "https://example.com/order",
            "properties": {
                "a": {"$ref": "#/$defs/Name"},
                "b": {"$ref": "#/$defs/Name", "description": "The other name."},
                "c": {"$ref": "#/$defs/Name", "maxLength": 3},
                "$ref": {"type": "string"},
            },
            "$defs": {"Name": {"type": "string", "description": "A name."}},
        });
        let name = json!({"type": "string", "description": "A name."});
        let expected = json!({"properties": {
            "a": name,
            "b": {"type": "string", "description": "The other name."},
            "c": {"allOf": [name, {"maxLength": 3}]},
            "$ref": {"type": "string"},
        }});
        assert_eq!(inlined(&source).unwrap(), expected);
    }

    #[test]
    fn a_reference_without_end_or_target_is_refused() {
        let there_and_back = json!({"$ref": "#/$defs/a", "$defs": {
            "a": {"items": {"$ref": "#/$defs/b"}}, "b": {"items": {"$ref": "#/$defs/a"}},
        }});
        let recursive = |reference: &str| Err(ReferenceError::Recursive(reference.to_owned()));
        assert_eq!(inlined(&there_and_back), recursive("#/$defs/a"));
        assert_eq!(inlined(&json!({"items": {"$ref": "#"}})), recursive("#"));
        for elsewhere in ["https://example.com/a", "#a", "#/$defs/b", "other.json#/a"] {
            let refused = inlined(&json!({"$ref": elsewhere, "$defs": {"a": {}}}));
            assert_eq!(refused, Err(ReferenceError::NotFound(elsewhere.to_owned())));
        }
        let anchored = json!({"items": {"$dynamicRef": "#node"}});
        assert_eq!(
            inlined(&anchored),
            Err(ReferenceError::Keyword("$dynamicRef"))
        );
    }

    #[test]
    fn a_schema_that_doubles_at_each_reference_is_refused() {
        let double = |next: usize| {
            let next = json!({"$ref": format!("#/$defs/{next}")});
            json!({"allOf": [next, next]})
        };
        let mut definitions: Map<_, _> = (0..40).map(|n| (n.to_string(), double(n + 1))).collect();
        definitions.insert("40".to_owned(), json!({}));
        let source = json!({"$ref": "#/$defs/0", "$defs": definitions});
        assert_eq!(inlined(&source), Err(ReferenceError::TooLarge));
    }
}
