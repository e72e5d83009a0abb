//! Redaction of secrets in text, in JSON, and across the chunks of a stream.

use std::borrow::Cow;
use std::cmp::Reverse;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Map, Value};

use super::form::forms;

/// So many bytes of a long value are taken for it, whether or not the rest follows: they say too much as well,
/// and no text can make a search long by nearly repeating a long value.
const TELLING_BYTES: usize = 1024;

/// Finds values of secrets in texts, and puts `[secret NAME]` in their place.
pub struct Redactor {
    /// By their first byte.
    forms: Vec<Vec<SecretForm>>,
}

/// A form of a value, and what stands for it.
struct SecretForm {
    text: SecretString,
    label: String,
}

/// The end of a text that goes on: it may be the beginning of a secret.
#[derive(Default)]
pub struct Tail(String);

/// Whether a form stands at some place of a text.
enum Sight {
    /// It does not.
    Absent,
    /// More text has to tell.
    Undecided,
    /// It does, and ends there.
    Found(usize),
}

impl Redactor {
    /// A redactor of these names and values.
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

    /// The text without values; as it is if there are none in it.
    pub fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = String::new();
        let Scan { copied, .. } = self.scan(text, true, &mut clean);
        if copied == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(&text[copied..]);
        Cow::Owned(clean)
    }

    /// The same where it stands.
    pub fn clean(&self, text: &mut String) {
        if let Cow::Owned(clean) = self.redact(text) {
            *text = clean;
        }
    }

    /// Redacts all strings in it, and numbers that spell a value. Returns whether there were any.
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

    /// Redacts the names and the values of an object's fields.
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

    /// The next piece of a text. What comes back is all that can be shown now; the rest waits in the tail.
    pub fn push(&self, tail: &mut Tail, piece: &str) -> String {
        let Tail(held) = tail;
        held.push_str(piece);
        let mut clean = String::new();
        let Scan { copied, decided } = self.scan(held, false, &mut clean);
        clean.push_str(&held[copied..decided]);
        held.drain(..decided);
        clean
    }

    /// The rest of a text that has ended.
    pub fn finish(&self, Tail(held): Tail) -> String {
        self.redact(&held).into_owned()
    }

    /// Looks for values from the left, the longest first, and writes to `clean` what is before each and its
    /// label. A place where a value may begin that the text cuts is the end, unless the text is whole.
    fn scan(&self, text: &str, is_whole: bool, clean: &mut String) -> Scan {
        let (mut copied, mut place) = (0, 0);
        while let Some(first) = text.as_bytes().get(place) {
            let mut found: Option<(usize, &SecretForm)> = None;
            for form in &self.forms[usize::from(*first)] {
                match form.look(text, place, is_whole) {
                    Sight::Absent => {}
                    Sight::Undecided => {
                        return Scan {
                            copied,
                            decided: place,
                        };
                    }
                    Sight::Found(end) if found.is_some_and(|(longest, _)| longest >= end) => {}
                    Sight::Found(end) => found = Some((end, form)),
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

/// How far a text has been looked through.
struct Scan {
    /// All before it has been written, redacted.
    copied: usize,
    /// From here to there are no values; beyond, nobody knows yet.
    decided: usize,
}

impl SecretForm {
    fn text(&self) -> &str {
        self.text.expose_secret()
    }

    /// Whether it stands at that place, and where it ends.
    fn look(&self, text: &str, place: usize, is_whole: bool) -> Sight {
        let form = self.text();
        let rest = &text.as_bytes()[place..];
        let telling = &form.as_bytes()[..form.len().min(TELLING_BYTES)];
        if !rest.starts_with(telling) {
            return if !is_whole && telling.starts_with(rest) {
                Sight::Undecided
            } else {
                Sight::Absent
            };
        }
        let pairs = rest.iter().zip(form.as_bytes());
        let common = pairs.take_while(|(one, other)| one == other).count();
        if common == rest.len() && common < form.len() && !is_whole {
            Sight::Undecided
        } else {
            Sight::Found(text.floor_char_boundary(place + common))
        }
    }
}

#[cfg(test)]
mod tests;
