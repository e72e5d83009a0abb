//! The encodings in which a secret's value can occur in a text.

use std::collections::BTreeSet;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// The characters that RFC 3986 leaves unencoded.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// The characters that Python's `quote` leaves unencoded.
const PATH: AsciiSet = UNRESERVED.remove(b'/');
/// The characters that `encodeURIComponent` leaves unencoded.
const COMPONENT: AsciiSet = UNRESERVED
    .remove(b'!')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');
/// The characters that a form leaves unencoded. A space becomes a plus sign.
const FORM: AsciiSet = NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'*')
    .remove(b' ');

/// Returns every form of the value to search for, without duplicates.
pub(super) fn forms(value: &str) -> BTreeSet<String> {
    let mut forms = BTreeSet::new();
    // A shell removes a final newline.
    for value in [value, value.trim()] {
        let escaped = in_json(value);
        // If a command prints JSON, its output is nested in the JSON of the tool result.
        forms.insert(in_json(&escaped));
        forms.insert(escaped);
        forms.insert(in_ascii_json(value));
        forms.insert(value.to_owned());
        insert_base64(&mut forms, value);
        insert_percent(&mut forms, value);
    }
    forms
}

/// Returns the value as it appears between the quotes of a JSON string.
fn in_json(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Returns the same for a program that escapes everything except ASCII.
fn in_ascii_json(value: &str) -> String {
    let escape = |char: char| {
        let mut units = [0; 2];
        let units = char.encode_utf16(&mut units).iter();
        units.map(|unit| format!("\\u{unit:04x}")).collect()
    };
    let one = |char: char| {
        if char.is_ascii() {
            char.to_string()
        } else {
            escape(char)
        }
    };
    in_json(value).chars().map(one).collect()
}

/// Inserts the base64 of the value alone, and the parts that occur in the base64 of every text with the value.
fn insert_base64(forms: &mut BTreeSet<String>, value: &str) {
    for text in [value, &format!("{value}\n")] {
        forms.insert(STANDARD.encode(text));
        forms.insert(URL_SAFE.encode(text));
    }
    for engine in [STANDARD_NO_PAD, URL_SAFE_NO_PAD] {
        forms.insert(engine.encode(value));
        for before in 0..3 {
            let shifted = [&[0; 2][..before], value.as_bytes()].concat();
            let encoded = engine.encode(&shifted);
            // Only the characters whose six bits all belong to the value.
            let begin = (8 * before).div_ceil(6);
            let end = 8 * shifted.len() / 6;
            forms.insert(encoded[begin..end].to_owned());
        }
    }
}

fn insert_percent(forms: &mut BTreeSet<String>, value: &str) {
    let encode = |set| utf8_percent_encode(value, set).to_string();
    let in_form = encode(&FORM).replace(' ', "+");
    for encoded in [
        encode(&UNRESERVED),
        encode(&PATH),
        encode(&COMPONENT),
        in_form,
    ] {
        forms.insert(with_small_digits(&encoded));
        forms.insert(encoded);
    }
}

/// Converts the digits to lower case: `%2F` → `%2f`.
fn with_small_digits(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at(2);
        text.push('%');
        text.push_str(&digits.to_lowercase());
        text.push_str(rest);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plain_value_looks_plain_or_like_base64() {
        let forms = forms("sk_live_0123456789");
        let plain = forms.iter().filter(|form| form.contains("sk_live"));
        assert_eq!(plain.count(), 1, "{forms:?}");
        assert!(forms.contains("c2tfbGl2ZV8wMTIzNDU2Nzg5"));
        assert!(forms.iter().all(|form| form.len() >= 8), "{forms:?}");
    }

    #[test]
    fn escapes_are_those_of_the_usual_programs() {
        let forms = forms("pä\"ss/w rd\n+~");
        for form in [
            "pä\"ss/w rd\n+~",
            "pä\\\"ss/w rd\\n+~",
            "pä\\\\\\\"ss/w rd\\\\n+~",
            "p\\u00e4\\\"ss/w rd\\n+~",
            "p%C3%A4%22ss%2Fw%20rd%0A%2B~",
            "p%c3%a4%22ss%2fw%20rd%0a%2b~",
            "p%C3%A4%22ss/w%20rd%0A%2B~",
            "p%C3%A4%22ss%2Fw+rd%0A%2B%7E",
        ] {
            assert!(forms.contains(form), "{form}: {forms:#?}");
        }
    }

    #[test]
    fn the_base64_of_a_longer_text_has_a_form_in_it() {
        let forms = forms("hunter2-hunter2");
        for before in ["", "u", "user", "user:", "user::"] {
            for after in ["", "\n", "ab", "abc", "?>?"] {
                for engine in [STANDARD, URL_SAFE] {
                    let text = engine.encode(format!("{before}hunter2-hunter2{after}"));
                    assert!(forms.iter().any(|form| text.contains(form)), "{text}");
                }
            }
        }
    }
}
