//! The structured result that a job must return, and the repair of invalid results.

use serde_json::Value;
use worker_tool::SubmitResult;

/// The number of invalid results that the model may correct. The loop ends after one more.
const MAX_REPAIRS: u32 = 2;

/// The way in which the model returns the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultForm {
    /// As the last message, which the provider constrains to the schema.
    Message,
    /// With a call of `submit_result`.
    Call,
}

/// The structured result that a job must return.
#[derive(Debug)]
pub(crate) struct ExpectedResult {
    tool: SubmitResult,
    form: ResultForm,
    /// The last result, or a list of its faults.
    last: Option<Result<Value, String>>,
    rejected: u32,
}

impl ExpectedResult {
    pub(crate) fn new(tool: SubmitResult, form: ResultForm) -> Self {
        Self {
            tool,
            form,
            last: None,
            rejected: 0,
        }
    }

    /// Returns the schema, if the provider constrains the last message to it.
    pub(crate) fn constraint(&self) -> Option<&Value> {
        (self.form == ResultForm::Message).then(|| self.tool.schema())
    }

    /// Records the arguments of a completed `submit_result` call.
    pub(crate) fn take_call(&mut self, arguments: &Value) {
        self.take(self.tool.result(arguments));
    }

    /// Records a message without tool calls.
    pub(crate) fn take_message(&mut self, text: &str) {
        self.take(self.tool.result_in_text(text));
    }

    fn take(&mut self, result: Result<Value, String>) {
        self.rejected += u32::from(result.is_err());
        self.last = Some(result);
    }

    /// Whether no further result is expected: the result is valid, or no repair is left.
    pub(crate) fn is_settled(&self) -> bool {
        matches!(self.last, Some(Ok(_))) || self.rejected > MAX_REPAIRS
    }

    /// Returns the request to correct the last message.
    pub(crate) fn repair_request(&self) -> String {
        let faults = match &self.last {
            Some(Err(faults)) => faults,
            _ => "- it is missing",
        };
        match self.form {
            ResultForm::Message => format!(
                "Your last message is not a valid result:\n{faults}\nAnswer with the corrected JSON value alone."
            ),
            ResultForm::Call => format!(
                "The task ends with a call of `{}`. Your last message is not a valid result either:\n{faults}",
                SubmitResult::NAME
            ),
        }
    }

    /// Returns the valid result, or the faults of the last result.
    pub(crate) fn into_result(self) -> Result<Value, String> {
        match self.last {
            Some(Ok(result)) => Ok(result),
            Some(Err(faults)) => Err(format!(
                "the last result does not match the output schema:\n{faults}"
            )),
            None => Err("the job ended without a result".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use shared::schema::Schema;

    use super::*;

    fn expected(form: ResultForm) -> ExpectedResult {
        let schema = Schema::compile(json!({"type": "array"})).unwrap();
        ExpectedResult::new(SubmitResult::new(schema), form)
    }

    #[test]
    fn two_invalid_results_can_be_repaired() {
        let mut expected = expected(ResultForm::Message);
        for _ in 0..2 {
            expected.take_message("{}");
            assert!(!expected.is_settled());
        }
        assert!(expected.repair_request().contains("is not of type"));
        expected.take_message("[1]");
        assert!(expected.is_settled());
        assert_eq!(expected.into_result(), Ok(json!([1])));
    }

    #[test]
    fn the_third_invalid_result_is_the_last() {
        let mut expected = expected(ResultForm::Call);
        expected.take_call(&json!({"result": 1}));
        expected.take_message("Done.");
        assert!(!expected.is_settled() && expected.repair_request().contains("submit_result"));
        expected.take_call(&json!({"result": {}}));
        assert!(expected.is_settled());
        assert!(
            expected
                .into_result()
                .unwrap_err()
                .contains("does not match")
        );
    }
}
