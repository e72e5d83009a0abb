//! The faults of a request, and the checks that both formats share.

use std::collections::HashSet;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use super::request::Request;

/// The longest tool name in characters, by both providers' rules.
const MAX_NAME_CHARS: usize = 64;

/// The faults of one request, as sentences.
#[derive(Debug, Default)]
pub(super) struct Faults(Vec<String>);

impl Faults {
    pub(super) fn add(&mut self, fault: impl Into<String>) {
        self.0.push(fault.into());
    }

    /// Adds the fault unless `is_so` is true.
    pub(super) fn unless(&mut self, is_so: bool, fault: impl FnOnce() -> String) {
        if !is_so {
            self.add(fault());
        }
    }

    pub(super) fn into_vec(self) -> Vec<String> {
        self.0
    }

    /// Checks that the headers have the expected values. A trailing `…` matches any non-empty rest.
    pub(super) fn headers(&mut self, request: &Request, expected: &[(&str, &str)]) {
        for (name, value) in expected {
            let got = request.headers.get(*name).map(String::as_str);
            let fits = match value.strip_suffix('…') {
                Some(start) => got.is_some_and(|got| {
                    got.strip_prefix(start)
                        .is_some_and(|rest| !rest.trim().is_empty())
                }),
                None => got == Some(*value),
            };
            self.unless(fits, || {
                format!("The header {name} is {got:?} and should be {value:?}.")
            });
        }
    }

    /// Checks that an object has only known fields.
    pub(super) fn fields(&mut self, place: &str, object: &Value, known: &[&str]) {
        let Some(fields) = object.as_object() else {
            return self.add(format!("{place} is not an object."));
        };
        for name in fields.keys().filter(|name| !known.contains(&name.as_str())) {
            self.add(format!("{place} has the unknown field `{name}`."));
        }
    }

    /// Checks that a field is a positive integer.
    pub(super) fn positive(&mut self, name: &str, value: &Value) {
        let is_positive = value.as_u64().is_some_and(|number| number > 0);
        self.unless(is_positive, || {
            format!("{name} is {value} and should be a positive integer.")
        });
    }

    /// Checks that the names of the tools are well formed and unique.
    pub(super) fn tool_names(&mut self, names: &[&Value]) {
        let mut seen = HashSet::new();
        for name in names {
            self.tool_name(name);
            self.unless(seen.insert(name.as_str()), || {
                format!("Two tools have the name {name}.")
            });
        }
    }

    /// Checks that a tool call in the history names a tool of the request or one that the model itself has called.
    pub(super) fn called_tool(&mut self, place: &str, name: &Value, known: &[String]) {
        self.tool_name(name);
        let is_known = known.iter().any(|known| name == known.as_str());
        self.unless(is_known, || {
            format!("{place} calls the tool {name}, which nobody knows.")
        });
    }

    fn tool_name(&mut self, name: &Value) {
        let is_valid = name.as_str().is_some_and(|name| {
            (1..=MAX_NAME_CHARS).contains(&name.len()) && name.chars().all(is_name_char)
        });
        self.unless(is_valid, || {
            format!("The tool name {name} does not match ^[a-zA-Z0-9_-]{{1,64}}$.")
        });
    }

    /// Checks that the results after a reply answer each of its calls exactly once and in order.
    pub(super) fn pairing(&mut self, place: &str, calls: &[String], results: &[String]) {
        let mut answered = HashSet::new();
        for result in results {
            if !calls.contains(result) {
                self.add(format!(
                    "{place} answers {result}, no call of the reply just before it."
                ));
            } else if !answered.insert(result) {
                self.add(format!("{place} answers the call {result} twice."));
            }
        }
        for call in calls.iter().filter(|call| !answered.contains(call)) {
            self.add(format!("{place} leaves the call {call} without a result."));
        }
        let is_sorted = calls.len() != results.len() || calls == results;
        self.unless(is_sorted || answered.len() != calls.len(), || {
            format!("{place} answers the calls in another order than they were made.")
        });
    }

    /// Checks that an image has a supported media type, valid base64, and content of its type.
    pub(super) fn image(&mut self, place: &str, media_type: &str, base64: &str) {
        let sniff: fn(&[u8]) -> bool = match media_type {
            "image/png" => |data| data.starts_with(b"\x89PNG\r\n\x1a\n"),
            "image/jpeg" => |data| data.starts_with(b"\xff\xd8\xff"),
            "image/gif" => |data| data.starts_with(b"GIF8"),
            "image/webp" => {
                |data| data.starts_with(b"RIFF") && data[4..].get(4..8) == Some(b"WEBP")
            }
            _ => return self.add(format!("{place} has the media type {media_type:?}.")),
        };
        match STANDARD.decode(base64) {
            Err(error) => self.add(format!("{place} is not valid base64: {error}.")),
            Ok(data) => {
                self.unless(sniff(&data), || {
                    format!("{place} is not {media_type} as it says.")
                });
            }
        }
    }

    /// Checks that a file is valid base64 and not empty.
    pub(super) fn file(&mut self, place: &str, base64: &str) {
        let is_valid = STANDARD.decode(base64).is_ok_and(|data| !data.is_empty());
        self.unless(is_valid, || {
            format!("{place} is not valid base64 of anything.")
        });
    }
}

/// Whether both providers allow the character in names and ids: letters, digits, `_` and `-`.
pub(super) fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_' || char == '-'
}
