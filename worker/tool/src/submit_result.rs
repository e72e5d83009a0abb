//! The tool that submits the structured result of a job.

use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use shared::schema::Schema;
use worker_model::ToolSpec;
use worker_model::arguments::{MAX_DEPTH, is_deeper};

use crate::call::{Call, Done, Tool, ToolError};

/// Keywords that providers reject at the top level of a tool's arguments.
const COMBINATIONS: [&str; 6] = ["allOf", "anyOf", "oneOf", "not", "if", "enum"];

/// The tool that submits the structured result of a job.
#[derive(Clone, Debug)]
pub struct SubmitResult {
    schema: Schema,
    /// Whether the result is the argument `result`, because the arguments of a tool must be an object.
    is_wrapped: bool,
}

impl SubmitResult {
    /// The name of the tool. No skill or agent can request it: a job has it because of its output schema.
    pub const NAME: &'static str = "submit_result";

    /// Creates the tool for results that match a schema.
    pub fn new(schema: Schema) -> Self {
        let source = schema.as_value();
        let is_object = source["type"] == "object";
        let is_wrapped = !is_object || COMBINATIONS.iter().any(|it| source.get(it).is_some());
        Self { schema, is_wrapped }
    }

    /// Returns the minimal schema of the arguments. A call that does not match it is refused.
    pub fn arguments(&self) -> Schema {
        let required = if self.is_wrapped {
            json!(["result"])
        } else {
            json!([])
        };
        let schema = Schema::compile(json!({ "type": "object", "required": required }));
        schema.expect("it is a valid schema")
    }

    /// Returns the result in the arguments of a call. An error lists the faults of the result.
    pub fn result(&self, arguments: &Value) -> Result<Value, String> {
        let result = if self.is_wrapped {
            &arguments["result"]
        } else {
            arguments
        };
        check(&self.schema, result)
    }

    /// Returns the result in a message. An error lists the faults of the result.
    pub fn result_in_text(&self, text: &str) -> Result<Value, String> {
        let value = serde_json::from_str(without_fence(text))
            .map_err(|error| format!("- it is not JSON: {error}"))?;
        check(&self.schema, &value)
    }

    /// Returns the schema of results as JSON.
    pub fn schema(&self) -> &Value {
        self.schema.as_value()
    }
}

impl Tool for SubmitResult {
    fn spec(&self) -> ToolSpec {
        let input_schema = if self.is_wrapped {
            json!({
                "type": "object",
                "properties": { "result": self.schema() },
                "required": ["result"],
                "additionalProperties": false,
            })
        } else {
            self.schema().clone()
        };
        ToolSpec {
            name: Self::NAME.into(),
            description: "Hands over the result of the whole task as JSON that matches the schema. Call it once, as \
                          the last step: the task ends with it. An error lists what does not match."
                .to_owned(),
            input_schema,
        }
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            match self.result(call.input) {
                Ok(_) => Ok(Done::text("The result is accepted.".to_owned())),
                Err(faults) => Err(ToolError::Reply(format!(
                    "the result does not match the schema:\n{faults}"
                ))),
            }
        })
    }
}

/// Checks a value, and its nesting.
fn check(schema: &Schema, value: &Value) -> Result<Value, String> {
    let result = matching(schema, value)?;
    if is_deeper(&result, MAX_DEPTH) {
        return Err(format!("- it is nested deeper than {MAX_DEPTH} levels"));
    }
    Ok(result)
}

/// Returns the value that matches. If it is a text that does not match, this is the JSON in it, because models
/// sometimes encode twice.
fn matching(schema: &Schema, value: &Value) -> Result<Value, String> {
    let faults = match schema.check(value) {
        Ok(()) => return Ok(value.clone()),
        Err(faults) => faults,
    };
    if let Some(text) = value.as_str()
        && let Ok(inner) = serde_json::from_str::<Value>(without_fence(text))
        && schema.check(&inner).is_ok()
    {
        return Ok(inner);
    }
    let lines = faults.iter().map(|(place, what)| match place.as_str() {
        "" => format!("- {what}"),
        place => format!("- {place}: {what}"),
    });
    Err(lines.collect::<Vec<_>>().join("\n"))
}

/// Returns the content of a text that is one fenced block of Markdown. Other texts are returned unchanged.
fn without_fence(text: &str) -> &str {
    let text = text.trim();
    let inner = text
        .strip_prefix("```")
        .and_then(|it| it.strip_suffix("```"));
    match inner.and_then(|inner| inner.split_once('\n')) {
        Some((_language, content)) => content,
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tool(schema: Value) -> SubmitResult {
        SubmitResult::new(Schema::compile(schema).unwrap())
    }

    #[test]
    fn an_object_is_the_arguments_and_anything_else_is_wrapped() {
        let object =
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]});
        let plain = tool(object.clone());
        assert_eq!(plain.spec().input_schema, object);
        assert_eq!(plain.result(&json!({"a": 1})), Ok(json!({"a": 1})));
        let numbers = tool(json!({"type": "array", "items": {"type": "integer"}}));
        assert_eq!(numbers.spec().input_schema["required"], json!(["result"]));
        assert_eq!(numbers.result(&json!({"result": [1]})), Ok(json!([1])));
        assert!(numbers.arguments().check(&json!({})).is_err());
        let mut combined = object;
        combined["anyOf"] = json!([{}]);
        assert_eq!(tool(combined).spec().input_schema["type"], "object");
    }

    #[test]
    fn what_does_not_match_is_listed_with_its_place() {
        let tool = tool(
            json!({"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["b"]}),
        );
        let faults = tool.result(&json!({"a": "x"})).unwrap_err();
        assert!(
            faults.contains("- /a: \"x\" is not of type \"integer\""),
            "{faults}"
        );
        assert!(faults.contains("\"b\" is a required property"), "{faults}");
    }

    #[test]
    fn a_result_may_be_encoded_twice_or_fenced() {
        let numbers = tool(json!({"type": "array", "items": {"type": "integer"}}));
        assert_eq!(
            numbers.result(&json!({"result": "[1, 2]"})),
            Ok(json!([1, 2]))
        );
        for text in ["[1]", " [1]\n", "```json\n[1]\n```", "```\n[1]\n```\n"] {
            assert_eq!(numbers.result_in_text(text), Ok(json!([1])), "{text}");
        }
        let prose = numbers.result_in_text("Here it is: [1]").unwrap_err();
        assert!(prose.contains("it is not JSON"), "{prose}");
    }

    #[test]
    fn a_result_that_could_not_be_read_back_is_refused() {
        let any = tool(json!({"type": "array"}));
        let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
        assert!(any.result_in_text(&nested(MAX_DEPTH)).is_ok());
        let deeper = nested(MAX_DEPTH + 1);
        for refused in [
            any.result_in_text(&deeper),
            any.result(&json!({"result": deeper})),
        ] {
            let fault = refused.unwrap_err();
            assert!(fault.contains("nested deeper than 100 levels"), "{fault}");
        }
    }
}
