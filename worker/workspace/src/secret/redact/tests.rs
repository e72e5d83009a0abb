//! Tests of redaction.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn redactor(secrets: &[(&str, &str)]) -> Redactor {
    Redactor::new(secrets.iter().copied())
}

#[test]
fn values_in_all_their_forms_give_way_to_their_names() {
    let redactor = redactor(&[("TOKEN", "hunter2/hunter2"), ("PIN", "31415926")]);
    let cases = [
        ("none", "none"),
        ("hunter2/hunter2", "[secret TOKEN]"),
        (
            "a hunter2/hunter2, 31415926.",
            "a [secret TOKEN], [secret PIN].",
        ),
        (
            "hunter2/hunter2hunter2/hunter2",
            "[secret TOKEN][secret TOKEN]",
        ),
        ("aHVudGVyMi9odW50ZXIy", "[secret TOKEN]"),
        ("?t=hunter2%2Fhunter2&", "?t=[secret TOKEN]&"),
        ("?t=hunter2%2fhunter2&", "?t=[secret TOKEN]&"),
        (
            "hunter2/hunterhunter2/hunter2",
            "hunter2/hunter[secret TOKEN]",
        ),
        ("hunter2/hunter", "hunter2/hunter"),
        ("é31415926é", "é[secret PIN]é"),
    ];
    for (text, expected) in cases {
        assert_eq!(redactor.redact(text), expected);
    }
    assert!(matches!(redactor.redact("none"), Cow::Borrowed(_)));
}

#[test]
fn the_longest_of_several_values_wins() {
    let redactor = redactor(&[("SHORT", "abcdefgh"), ("LONG", "abcdefghijkl")]);
    assert_eq!(
        redactor.redact("abcdefghijkl abcdefghij"),
        "[secret LONG] [secret SHORT]ij"
    );
    let mut tail = Tail::default();
    assert_eq!(redactor.push(&mut tail, "-abcdefgh"), "-");
    assert_eq!(redactor.push(&mut tail, "ij"), "");
    assert_eq!(redactor.push(&mut tail, "-"), "[secret SHORT]ij-");
    assert_eq!(redactor.finish(tail), "");
}

#[test]
fn a_long_value_is_known_by_its_beginning() {
    let value: String = (0..2000).map(|number| format!("{number} ")).collect();
    let redactor = redactor(&[("LONG", &value)]);
    let text = format!("<{value}> <{}> <{}>", &value[..2000], &value[..500]);
    let expected = format!("<[secret LONG]> <[secret LONG]> <{}>", &value[..500]);
    assert_eq!(redactor.redact(&text), expected);
}

#[test]
fn a_value_between_other_white_space_is_found_without_its_own() {
    let redactor = redactor(&[("KEY", "0123456789\n")]);
    assert_eq!(redactor.redact("<0123456789>"), "<[secret KEY]>");
    assert_eq!(redactor.redact("<0123456789\n>"), "<[secret KEY]>");
}

#[test]
fn every_part_of_json_is_looked_at() {
    let redactor = redactor(&[("KEY", "line \"1\"\nline 2"), ("PIN", "31415926")]);
    let value = "line \"1\"\nline 2";
    // The text of a tool's result is JSON.
    let text = json!({"stdout": value, "nested": json!({"deeper": value}).to_string()}).to_string();
    let clean = redactor.redact(&text).into_owned();
    assert_eq!(
        serde_json::from_str::<Value>(&clean).unwrap(),
        json!({"stdout": "[secret KEY]", "nested": "{\"deeper\":\"[secret KEY]\"}"})
    );
    let mut input = json!({"a": [1, value, {"b": null}], "n": 31415926, value: true, "z": 1.5});
    assert!(redactor.clean_json(&mut input));
    let expected = json!({"a": [1, "[secret KEY]", {"b": null}], "n": "[secret PIN]", "[secret KEY]": true, "z": 1.5});
    assert_eq!(input.to_string(), expected.to_string());
    assert!(!redactor.clean_json(&mut input));
}

/// Values and texts with few letters, so that they often overlap.
fn value() -> impl Strategy<Value = String> {
    "[xyé\"\n/]{8,12}"
}

fn text(values: [String; 2]) -> impl Strategy<Value = ([String; 2], Vec<String>)> {
    let part = prop_oneof![
        3 => "[xyé\"\n/%]{0,9}",
        1 => Just(values[0].clone()),
        1 => Just(values[1].clone()),
        1 => Just(json!(values[0]).to_string()),
        1 => Just(values[1].chars().take(6).collect()),
    ];
    let parts = proptest::collection::vec(part, 0..12);
    (Just(values), parts)
}

fn cut(text: &str, places: &[usize]) -> Vec<String> {
    let mut places: Vec<_> = places
        .iter()
        .map(|place| text.floor_char_boundary(place % (text.len() + 1)))
        .collect();
    places.extend([0, text.len()]);
    places.sort_unstable();
    let pairs = places.windows(2);
    pairs
        .map(|pair| text[pair[0]..pair[1]].to_owned())
        .collect()
}

proptest! {
    #[test]
    fn however_a_text_is_cut_no_value_comes_through_and_nothing_else_changes(
        (values, parts) in [value(), value()].prop_flat_map(text),
        places in proptest::collection::vec(any::<usize>(), 0..20),
    ) {
        let redactor = redactor(&[("A", &values[0]), ("B", &values[1])]);
        let text = parts.concat();
        let whole = redactor.redact(&text).into_owned();
        let mut tail = Tail::default();
        let mut pieces = String::new();
        for piece in cut(&text, &places) {
            pieces.push_str(&redactor.push(&mut tail, &piece));
            prop_assert!(values.iter().all(|value| !pieces.contains(value.trim())));
        }
        pieces.push_str(&redactor.finish(tail));
        prop_assert_eq!(&pieces, &whole);
        for value in &values {
            prop_assert!(!whole.contains(value.trim()), "{value:?} in {whole:?}");
        }
    }

    #[test]
    fn a_text_without_values_is_left_alone(
        text in "[a-z \n\"%=]{0,200}",
        places in proptest::collection::vec(any::<usize>(), 0..20),
    ) {
        let redactor = redactor(&[("A", "0123456789")]);
        prop_assume!(matches!(redactor.redact(&text), Cow::Borrowed(_)));
        let mut tail = Tail::default();
        let shown: String = cut(&text, &places)
            .iter()
            .map(|piece| redactor.push(&mut tail, piece))
            .collect();
        prop_assert_eq!(shown + &redactor.finish(tail), text);
    }
}
