//! Enumerations in the form that client generators need. Languages in which all constants share one namespace, such as
//! Go, need a name for each value.

use serde_json::{Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::{Components, RefOr, Schema};

/// Gives each value of an enumeration a unique name, such as `StatusQueued`.
pub(super) fn name_values(components: &mut Components) {
    for (name, schema) in &mut components.schemas {
        let RefOr::T(Schema::Object(object)) = schema else {
            continue;
        };
        let values = object.enum_values.iter().flatten();
        let names: Option<Vec<_>> = values.map(|value| constant(name, value)).collect();
        let Some(names) = names.filter(|names| !names.is_empty()) else {
            continue;
        };
        let named = Extensions::builder()
            .add("x-enum-varnames", json!(names))
            .build();
        object.extensions = Some(named);
    }
}

fn constant(schema: &str, value: &Value) -> Option<String> {
    let words = value.as_str()?.split(['_', '.', '-']);
    let capitalized = words.map(|word| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    });
    Some(format!("{schema}{}", capitalized.collect::<String>()))
}
