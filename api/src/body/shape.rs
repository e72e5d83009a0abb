//! Validation errors of a JSON body. A deserializer stops at the first error, so each invalid field is replaced with a
//! valid value, and the body is deserialized again.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fault;
use crate::problem::FieldError;

/// The maximum number of errors in one response.
const MAX_ERRORS: usize = 20;
/// The largest body that is deserialized more than once. For larger ones, only the first error is returned.
const MAX_BYTES: usize = 64 * 1024;

/// Returns all errors of the body, beginning with `first`.
pub(super) fn all_faults<T: DeserializeOwned>(bytes: &[u8], first: FieldError) -> Vec<FieldError> {
    let mut faults = vec![first];
    if bytes.len() > MAX_BYTES {
        return faults;
    }
    let Ok(mut body) = serde_json::from_slice::<Value>(bytes) else {
        return faults;
    };
    // A `Value` has each field once, so the error of a duplicate field is lost.
    if first_fault::<T>(&body).as_ref() != faults.first() {
        return faults;
    }
    let mut fault = faults[0].clone();
    for _ in 1..MAX_ERRORS {
        let Some(Some(next)) = replace_invalid::<T>(&mut body, &fault) else {
            break;
        };
        if faults.iter().all(|known| known.pointer != next.pointer) {
            faults.push(next.clone());
        }
        fault = next;
    }
    faults
}

/// Returns the first error in the shape of the body.
fn first_fault<T: DeserializeOwned>(body: &Value) -> Option<FieldError> {
    let error = serde_path_to_error::deserialize::<_, T>(body).err()?;
    Some(fault::describe(error.path(), &error.inner().to_string()))
}

/// Replaces an invalid field with a valid value. Returns the next error of the body, or `Some(None)` if the body is now
/// valid. Returns `None` if no candidate is valid.
fn replace_invalid<T: DeserializeOwned>(
    body: &mut Value,
    fault: &FieldError,
) -> Option<Option<FieldError>> {
    let (parent, name) = fault.pointer.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    let mut candidates = candidates(&fault.detail);
    let mut tries = 0;
    while let Some(candidate) = candidates.get(tries).cloned() {
        tries += 1;
        let Some(previous) = put(body, parent, &name, candidate) else {
            continue;
        };
        let next = first_fault::<T>(body);
        let is_right = next.as_ref().is_none_or(|next| {
            next.pointer != fault.pointer
                && !next.pointer.starts_with(&format!("{}/", fault.pointer))
        });
        if is_right {
            return Some(next);
        }
        put(body, parent, &name, previous);
        // The type was right but the value was not. The new error may propose a valid value.
        let proposed = next.and_then(|next| proposal(&next.detail)).map(Some);
        candidates.extend(proposed.filter(|proposed| !candidates.contains(proposed)));
    }
    None
}

/// Sets a field to a value, or removes the field. Returns the previous value, or `None` if the parent has no such
/// field.
fn put(body: &mut Value, parent: &str, name: &str, value: Option<Value>) -> Option<Option<Value>> {
    match (body.pointer_mut(parent)?, value) {
        (Value::Object(fields), Some(value)) => Some(fields.insert(name.to_owned(), value)),
        (Value::Object(fields), None) => Some(fields.remove(name)),
        (Value::Array(items), Some(value)) => {
            let item = items.get_mut(name.parse::<usize>().ok()?)?;
            Some(Some(std::mem::replace(item, value)))
        }
        _ => None,
    }
}

/// The candidate values: the value that the error proposes, one value of each type, and `None` to remove the field.
fn candidates(detail: &str) -> Vec<Option<Value>> {
    if detail.starts_with("unknown field") {
        return vec![None];
    }
    let kinds = [json!("a"), json!(1), json!(true), json!([]), json!({})];
    let proposed = proposal(detail).into_iter();
    proposed.chain(kinds).map(Some).chain([None]).collect()
}

/// A value that the error proposes.
fn proposal(detail: &str) -> Option<Value> {
    detail
        .strip_prefix("must be one of: ")
        .and_then(|names| names.split(", ").next())
        .or_else(|| detail.split_once(", such as ").map(|(_, example)| example))
        .map(Value::from)
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only")]
    struct Body {
        text: String,
        number: Option<i32>,
        list: Vec<Kind>,
        inner: Option<Inner>,
    }

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only")]
    struct Inner {
        flag: bool,
    }

    #[derive(Debug, Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        Two,
    }

    fn faults(body: &str) -> Vec<(String, String)> {
        let mut deserializer = serde_json::Deserializer::from_str(body);
        let error = serde_path_to_error::deserialize::<_, Body>(&mut deserializer);
        let error = error.expect_err("it is wrong");
        let first = fault::describe(error.path(), &error.inner().to_string());
        let faults = all_faults::<Body>(body.as_bytes(), first);
        faults
            .into_iter()
            .map(|it| (it.pointer, it.detail))
            .collect()
    }

    #[test]
    fn every_wrong_field_is_named() {
        let body = r#"{"text": 5, "number": "many", "list": ["one", "three", 7], "inner": {"flag": "yes"}, "more": 1}"#;
        let faults = faults(body);
        let pointers: Vec<_> = faults.iter().map(|(pointer, _)| pointer.as_str()).collect();
        let expected = [
            "/text",
            "/number",
            "/list/1",
            "/list/2",
            "/inner/flag",
            "/more",
        ];
        assert_eq!(pointers, expected, "{faults:?}");
        assert_eq!(faults[2].1, "must be one of: one, two");
    }

    #[test]
    fn missing_fields_are_named_beside_wrong_ones() {
        let faults = faults(r#"{"number": []}"#);
        let pointers: Vec<_> = faults.iter().map(|(pointer, _)| pointer.as_str()).collect();
        assert_eq!(pointers, ["/number", "/text", "/list"], "{faults:?}");
    }

    #[test]
    fn a_field_that_is_there_twice_is_the_only_error() {
        let faults = faults(r#"{"text": "a", "text": "b", "number": "c"}"#);
        assert_eq!(faults.len(), 1, "{faults:?}");
    }
}
