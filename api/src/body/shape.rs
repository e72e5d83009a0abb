//! All that is wrong with the shape of a body at once. A deserializer stops at the first error, so each field that is
//! wrong is put right with something of the right shape, and the body is read again.

use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::fault;
use crate::problem::FieldError;

/// Errors of one answer.
const MAX_ERRORS: usize = 20;
/// The largest body that is read more than once.
const MAX_BYTES: usize = 64 * 1024;

/// All errors of the body, of which the first is known.
pub(super) fn all_faults<T: DeserializeOwned>(bytes: &[u8], first: FieldError) -> Vec<FieldError> {
    let mut faults = vec![first];
    if bytes.len() > MAX_BYTES {
        return faults;
    }
    let Ok(mut body) = serde_json::from_slice::<Value>(bytes) else {
        return faults;
    };
    // A field that is there twice is there once in a value, so it may be right now.
    if faults_of::<T>(&body).as_ref() != faults.first() {
        return faults;
    }
    let mut fault = faults[0].clone();
    for _ in 1..MAX_ERRORS {
        let Some(Some(next)) = put_right::<T>(&mut body, &fault) else {
            break;
        };
        if faults.iter().all(|known| known.pointer != next.pointer) {
            faults.push(next.clone());
        }
        fault = next;
    }
    faults
}

/// The first error of the body's shape.
fn faults_of<T: DeserializeOwned>(body: &Value) -> Option<FieldError> {
    let error = serde_path_to_error::deserialize::<_, T>(body).err()?;
    Some(fault::describe(error.path(), &error.inner().to_string()))
}

/// Puts a field right, and returns the error that comes next, if there is one; `None` if nothing fits.
fn put_right<T: DeserializeOwned>(
    body: &mut Value,
    fault: &FieldError,
) -> Option<Option<FieldError>> {
    let (parent, name) = fault.pointer.rsplit_once('/')?;
    let name = name.replace("~1", "/").replace("~0", "~");
    let mut fillers: Vec<_> = fillers(&fault.detail).collect();
    let mut tries = 0;
    while let Some(filler) = fillers.get(tries).cloned() {
        tries += 1;
        let mut tried = body.clone();
        let parent = tried.pointer_mut(parent)?;
        match (parent, filler) {
            (Value::Object(fields), None) => drop(fields.remove(&name)),
            (Value::Object(fields), Some(filler)) => drop(fields.insert(name.clone(), filler)),
            (Value::Array(items), Some(filler)) => {
                *items.get_mut(name.parse::<usize>().ok()?)? = filler;
            }
            _ => continue,
        }
        let next = faults_of::<T>(&tried);
        let is_right = next.as_ref().is_none_or(|next| {
            next.pointer != fault.pointer
                && !next.pointer.starts_with(&format!("{}/", fault.pointer))
        });
        if is_right {
            *body = tried;
            return Some(next);
        }
        // A value of the right type that is not allowed: the error says which ones are.
        let proposed = next.and_then(|next| proposal(&next.detail)).map(Some);
        fillers.extend(proposed.filter(|proposed| !fillers.contains(proposed)));
    }
    None
}

/// What may be of the right shape: what the error itself proposes, a value of each kind, or nothing.
fn fillers(detail: &str) -> impl Iterator<Item = Option<Value>> {
    let kinds = [json!("a"), json!(1), json!(true), json!([]), json!({})];
    let proposed = proposal(detail).into_iter();
    proposed.chain(kinds).map(Some).chain([None])
}

/// A value that the error itself calls right.
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
