//! The rules of both providers for the schema of structured output.

use serde_json::{Value, json};

use super::fault::Faults;

/// The keywords that Anthropic rejects.
const REFUSED: [&str; 8] = [
    "minimum",
    "maximum",
    "multipleOf",
    "minLength",
    "maxLength",
    "pattern",
    "allOf",
    "oneOf",
];

/// Checks OpenAI's `response_format`.
pub(super) fn response_format(format: &Value, faults: &mut Faults) {
    if format.is_null() {
        return;
    }
    faults.fields("response_format", format, &["type", "json_schema"]);
    faults.unless(format["type"] == "json_schema", || {
        format!("response_format has the type {}.", format["type"])
    });
    let named = &format["json_schema"];
    faults.fields("json_schema", named, &["name", "strict", "schema"]);
    faults.unless(named["name"].is_string(), || {
        "json_schema has no name.".to_owned()
    });
    schema(&named["schema"], faults);
}

/// Checks Anthropic's `output_config`.
pub(super) fn output_config(config: &Value, faults: &mut Faults) {
    if config.is_null() {
        return;
    }
    faults.fields("output_config", config, &["format"]);
    faults.fields(
        "output_config.format",
        &config["format"],
        &["type", "schema"],
    );
    faults.unless(config["format"]["type"] == "json_schema", || {
        format!(
            "output_config.format has the type {}.",
            config["format"]["type"]
        )
    });
    schema(&config["format"]["schema"], faults);
}

/// Checks that every object is closed and that all of its properties are required.
fn schema(schema: &Value, faults: &mut Faults) {
    for keyword in REFUSED {
        faults.unless(schema.get(keyword).is_none(), || {
            format!("The schema {schema} has the keyword {keyword}.")
        });
    }
    if schema["type"] == "object" {
        let names = schema["properties"]
            .as_object()
            .map(|it| it.keys().collect::<Vec<_>>());
        let mut names = json!(names);
        let mut required = schema["required"].clone();
        for list in [&mut names, &mut required] {
            if let Some(list) = list.as_array_mut() {
                list.sort_by_key(Value::to_string);
            }
        }
        let is_closed = schema["additionalProperties"] == false && names == required;
        faults.unless(is_closed, || format!("The schema {schema} is not closed."));
    }
    let below = schema["properties"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.values());
    let choices = schema["anyOf"].as_array().into_iter().flatten();
    for inner in below.chain(choices).chain(schema.get("items")) {
        self::schema(inner, faults);
    }
}
