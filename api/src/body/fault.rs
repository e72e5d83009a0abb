//! Errors in the shape of a JSON body, by field.

use serde_path_to_error::{Path, Segment};

use crate::problem::FieldError;

/// Converts a deserializer error at `path` into the field and a description of the valid values.
pub(super) fn describe(path: &Path, error: &str) -> FieldError {
    // The pointer already names the position, so the line and column are removed.
    let error = error.rsplit_once(" at line ").map_or(error, |(it, _)| it);
    let pointer = pointer(path);
    if let Some(name) = in_ticks(error, "missing field ") {
        return FieldError::new(format!("{pointer}/{}", escape(name)), "is required");
    }
    if let Some(name) = in_ticks(error, "duplicate field ") {
        return FieldError::new(
            format!("{pointer}/{}", escape(name)),
            "must not appear twice",
        );
    }
    FieldError::new(pointer, in_plain_words(error))
}

/// Converts the path to a JSON Pointer (RFC 6901).
pub(super) fn pointer(path: &Path) -> String {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", escape(key)),
            Segment::Enum { variant } => format!("/{}", escape(variant)),
            Segment::Unknown => String::new(),
        })
        .collect()
}

fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Returns the text in backticks after the prefix `words`.
fn in_ticks<'a>(error: &'a str, words: &str) -> Option<&'a str> {
    let (_, name) = error.strip_prefix(words)?.split_once('`')?;
    Some(name.split_once('`')?.0)
}

/// Converts a serde error into a message for clients, without Rust type names. Errors of this crate are already
/// readable.
pub(crate) fn in_plain_words(error: &str) -> String {
    if error.starts_with("invalid digit") || error.starts_with("cannot parse integer") {
        return "must be a whole number".to_owned();
    }
    if error.starts_with("provided string was not") {
        return "must be true or false".to_owned();
    }
    let Some((found, expected)) = error.rsplit_once(", expected ") else {
        return error.to_owned();
    };
    if let Some(name) = in_ticks(found, "unknown field ") {
        return format!("unknown field `{name}`; known fields: {}", list(expected));
    }
    if found.starts_with("unknown variant ") {
        return format!("must be one of: {}", list(expected));
    }
    let Some(kind) = found.strip_prefix("invalid type: ") else {
        return format!("must be {}", name_of(expected));
    };
    format!("must be {}, not {}", name_of(expected), kind_of(kind))
}

/// Extracts the names from ``one of `a`, `b` `` and from `` `a` or `b` ``.
fn list(expected: &str) -> String {
    let names = expected.split('`').skip(1).step_by(2);
    names.collect::<Vec<_>>().join(", ")
}

fn name_of(expected: &str) -> &str {
    match expected {
        "a map" => "an object",
        "a sequence" => "a list",
        "f64" => "a number",
        expected if expected.starts_with("struct ") => "an object",
        expected => expected,
    }
}

/// Returns the JSON type from a description that includes the value.
fn kind_of(found: &str) -> &str {
    match found.split_once(' ').map_or(found, |(kind, _)| kind) {
        "integer" | "floating" => "a number",
        "string" => "a string",
        "boolean" => "a boolean",
        "map" => "an object",
        "sequence" => "a list",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use shared::whole_number::WholeNumber;

    use super::*;

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only")]
    struct Outer {
        inner: Inner,
        list: Option<Vec<Kind>>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only")]
    struct Inner {
        text: String,
        number: Option<WholeNumber>,
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Kind {
        One,
        Two,
    }

    fn fault(json: &str) -> (String, String) {
        let mut deserializer = serde_json::Deserializer::from_str(json);
        let error = serde_path_to_error::deserialize::<_, Outer>(&mut deserializer)
            .err()
            .expect("it is wrong");
        let fault = describe(error.path(), &error.inner().to_string());
        (fault.pointer, fault.detail)
    }

    #[test]
    fn a_fault_names_its_field_and_the_remedy() {
        for (json, pointer, detail) in [
            ("5", "", "must be an object, not a number"),
            ("{}", "/inner", "is required"),
            (r#"{"inner": {}}"#, "/inner/text", "is required"),
            (
                r#"{"inner": null}"#,
                "/inner",
                "must be an object, not null",
            ),
            (
                r#"{"inner": {"text": "a", "text": "b"}}"#,
                "/inner/text",
                "must not appear twice",
            ),
            (
                r#"{"inner": {"text": true}}"#,
                "/inner/text",
                "must be a string, not a boolean",
            ),
            (
                r#"{"inner": {"text": "a", "number": "`, expected one"}}"#,
                "/inner/number",
                "must be a whole number, not a string",
            ),
            (
                r#"{"inner": {"a/b": 1}}"#,
                "/inner/a~1b",
                "unknown field `a/b`; known fields: text, number",
            ),
            (
                r#"{"inner": {"text": "a"}, "list": {}}"#,
                "/list",
                "must be a list, not an object",
            ),
            (
                r#"{"inner": {"text": "a"}, "list": ["one", "three"]}"#,
                "/list/1",
                "must be one of: one, two",
            ),
        ] {
            assert_eq!(
                fault(json),
                (pointer.to_owned(), detail.to_owned()),
                "{json}"
            );
        }
    }
}
