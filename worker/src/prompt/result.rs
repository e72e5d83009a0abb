//! The section of the system prompt about the structured result.

use serde_json::Value;
use worker_tool::SubmitResult;

use crate::expected_result::ResultForm;

/// Returns the section about a result that must match a schema.
pub(crate) fn result_section(schema: &Value, form: ResultForm) -> String {
    match form {
        ResultForm::Message => format!(
            "\n\n# Result\n\nWhen the work is done, your last message is the result: one JSON value that matches this JSON \
             Schema, without any other text.\n\n```json\n{schema}\n```"
        ),
        // The tool definition contains the schema.
        ResultForm::Call => format!(
            "\n\n# Result\n\nWhen the work is done, call `{}` with the result. The task ends with this call, and not \
             before.",
            SubmitResult::NAME
        ),
    }
}
