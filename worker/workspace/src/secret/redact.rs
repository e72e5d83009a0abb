//! Redaction of secrets in text, in JSON, and across the chunks of a stream.

use std::borrow::Cow;
use std::cmp::Reverse;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::form::forms;

/// The number of bytes by which a long value is recognized, whether or not the rest follows. These bytes alone reveal
/// too much. The bound also keeps the search fast in a text that nearly repeats a long value.
const RECOGNITION_BYTES: usize = 1024;

/// The search for secret values in texts, and their replacement with `[secret NAME]`.
pub struct Redactor {
    /// The forms by their first byte.
    forms: Vec<Vec<SecretForm>>,
}

/// A form of a value, with its replacement.
struct SecretForm {
    text: SecretString,
    label: String,
}

/// The withheld end of an unfinished text. It may be the start of a secret.
#[derive(Default)]
pub struct Tail(String);

/// The result of looking for a form at one position of a text.
enum FormMatch {
    /// The form is not there.
    Absent,
    /// More text is needed to decide.
    Undecided,
    /// The form is there and ends at this position.
    Found(usize),
}

impl Redactor {
    /// Creates a redactor for these names and values.
    pub fn new<'a>(secrets: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut by_first_byte: Vec<Vec<SecretForm>> = (0..256).map(|_| Vec::new()).collect();
        for (name, value) in secrets {
            for text in forms(value) {
                let first = usize::from(text.as_bytes()[0]);
                by_first_byte[first].push(SecretForm {
                    text: text.into(),
                    label: format!("[secret {name}]"),
                });
            }
        }
        for forms in &mut by_first_byte {
            forms.sort_by_key(|form| Reverse(form.text().len()));
        }
        Self {
            forms: by_first_byte,
        }
    }

    /// Returns the text without secret values, borrowed if it contains none.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = String::new();
        let Scan { copied, .. } = self.scan(text, true, &mut clean);
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(&text[copied..]);
        Cow::Owned(clean)
    }

    /// Redacts a text in place.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redact(text) {
            *text = clean;
        }
    }

    /// Redacts all strings in a JSON value, and numbers that contain a secret value. Returns whether there were any.
    pub fn clean_json(&self, value: &mut Value) -> bool {
        match value {
            Value::Null | Value::Bool(_) => false,
            Value::Number(number) => {
                let Cow::Owned(clean) = self.redact(&number.to_string()) else {
                    return false;
                };
                *value = clean.into();
                true
            }
            Value::String(text) => {
                let Cow::Owned(clean) = self.redact(text) else {
                    return false;
                };
                *text = clean;
                true
            }
            Value::Array(items) => {
                let mut found = false;
                for item in items {
                    found |= self.clean_json(item);
                }
                found
            }
            Value::Object(fields) => self.clean_fields(fields),
        }
    }

    /// Redacts the names and the values of an object's fields. Returns whether there were any.
    pub fn clean_fields(&self, fields: &mut Map<String, Value>) -> bool {
        let mut found = false;
        for value in fields.values_mut() {
            found |= self.clean_json(value);
        }
        let is_clean = |name: &String| matches!(self.redact(name), Cow::Borrowed(_));
        if fields.keys().all(is_clean) {
            return found;
        }
        let renamed = std::mem::take(fields).into_iter();
        *fields = renamed
            .map(|(name, value)| (self.redact(&name).into_owned(), value))
            .collect();
        true
    }

    /// Adds the next piece of a text. Returns everything that can be shown now. The rest stays in the tail.
    pub fn push(&self, tail: &mut Tail, piece: &str) -> String {
        let Tail(held) = tail;
        held.push_str(piece);
        let mut clean = String::new();
        let Scan { copied, decided } = self.scan(held, false, &mut clean);
        clean.push_str(&held[copied..decided]);
        held.drain(..decided);
        clean
    }

    /// Returns the rest of a text that has ended.
    pub fn finish(&self, Tail(held): Tail) -> String {
        self.redact(&held).into_owned()
    }

    /// Searches for values from the left, the longest first, and writes the text before each value and its label to
    /// `clean`. Unless the text is whole, the scan ends where a value may start that the end of the text cuts off.
    fn scan(&self, text: &str, is_whole: bool, clean: &mut String) -> Scan {
        let (mut copied, mut place) = (0, 0);
        while let Some(first) = text.as_bytes().get(place) {
            let mut found: Option<(usize, &SecretForm)> = None;
            for form in &self.forms[usize::from(*first)] {
                match form.look(text, place, is_whole) {
                    FormMatch::Absent => {}
                    FormMatch::Undecided => {
                        return Scan {
                            copied,
                            decided: place,
                        };
                    }
                    FormMatch::Found(end) if found.is_some_and(|(longest, _)| longest >= end) => {}
                    FormMatch::Found(end) => found = Some((end, form)),
                }
            }
            place = match found {
                Some((end, form)) => {
                    clean.push_str(&text[copied..place]);
                    clean.push_str(&form.label);
                    copied = end;
                    end
                }
                None => place + 1,
            };
        }
        Scan {
            copied,
            decided: place,
        }
    }
}

/// The progress of a scan.
struct Scan {
    /// Everything before this position has been written, redacted.
    copied: usize,
    /// Between `copied` and this position there are no values. After it, more text is needed to decide.
    decided: usize,
}

impl SecretForm {
    fn text(&self) -> &str {
        self.text.expose_secret()
    }

    /// Returns whether the form is at this position, and where it ends.
    fn look(&self, text: &str, place: usize, is_whole: bool) -> FormMatch {
        let form = self.text();
        let rest = &text.as_bytes()[place..];
        let start = &form.as_bytes()[..form.len().min(RECOGNITION_BYTES)];
        if !rest.starts_with(start) {
            return if !is_whole && start.starts_with(rest) {
                FormMatch::Undecided
            } else {
                FormMatch::Absent
            };
        }
        let pairs = rest.iter().zip(form.as_bytes());
        let common = pairs.take_while(|(one, other)| one == other).count();
        if common == rest.len() && common < form.len() && !is_whole {
            FormMatch::Undecided
        } else {
            FormMatch::Found(text.floor_char_boundary(place + common))
        }
    }
}

#[cfg(test)]
mod tests;
