//! The check for the character NUL (U+0000), which requests must not contain. Postgres cannot store it as text, and
//! many programs treat it as the end of a string.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_path_to_error::Track;

use super::fault::pointer;

/// Returns a JSON Pointer to the first string that contains a NUL, or to the object with a NUL in a field name. Returns
/// `None` for JSON that is invalid before that string; the parser reports the error.
pub(super) fn find(bytes: &[u8]) -> Option<String> {
    // JSON can contain a NUL only as this escape. Nearly all bodies return here.
    let mut after_backslash = bytes.split(|byte| *byte == b'\\').skip(1);
    if !after_backslash.any(|rest| rest.starts_with(b"u0000")) {
        return None;
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let mut track = Track::new();
    let json = serde_path_to_error::Deserializer::new(&mut json, &mut track);
    let error = Texts.deserialize(json).err()?;
    if !error.to_string().starts_with(FOUND) {
        return None;
    }
    let place = pointer(&track.path());
    let object = place
        .split_once('\0')
        .and_then(|(before, _)| before.rsplit_once('/'));
    Some(object.map_or(place.clone(), |(object, _)| object.to_owned()))
}

const FOUND: &str = "a text has a NUL";

/// Checks all strings, including field names, and stores nothing.
struct Texts;

impl<'de> DeserializeSeed<'de> for Texts {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, json: D) -> Result<(), D::Error> {
        json.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Texts {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("JSON")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<(), E> {
        match text.contains('\0') {
            true => Err(E::custom(FOUND)),
            false => Ok(()),
        }
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while list.next_element_seed(Texts)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<(), A::Error> {
        while object.next_key_seed(Texts)?.is_some() {
            object.next_value_seed(Texts)?;
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(json: &str) -> Option<String> {
        find(json.as_bytes())
    }

    #[test]
    fn a_nul_is_found_wherever_it_is() {
        for (json, place) in [
            (r#""\u0000""#, ""),
            (r#"{"a": "x\u0000y"}"#, "/a"),
            (
                r#"{"a": {"b/c": [1, true, null, 1.5, {"d": "\u0000"}]}}"#,
                "/a/b~1c/4/d",
            ),
            // The pointer names the object, because the field name itself contains the NUL.
            (r#"{"a": {"\u0000": 1}}"#, "/a"),
            (r#"{"a": "\\", "b": "\\\u0000"}"#, "/b"),
        ] {
            assert_eq!(found(json).as_deref(), Some(place), "{json}");
        }
    }

    #[test]
    fn what_only_looks_like_one_is_none() {
        for json in [
            r#"{"a": "\\u0000"}"#,
            r#"{"a": "\u00001"#,
            r#"{"a": "\u0001", "b": -1}"#,
            "{",
        ] {
            assert_eq!(found(json), None, "{json}");
        }
    }
}
