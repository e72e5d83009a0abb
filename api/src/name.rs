//! Names of keys and tenants.

use crate::problem::FieldError;

const MAX_CHARS: usize = 100;

/// Returns the trimmed name, or the error of the field `/name`.
pub(crate) fn parse(text: &str) -> Result<String, FieldError> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > MAX_CHARS {
        let detail = format!("must have 1 to {MAX_CHARS} characters");
        return Err(FieldError::new("/name", detail));
    }
    if name.chars().any(char::is_control) {
        let detail = "must not contain control characters";
        return Err(FieldError::new("/name", detail));
    }
    Ok(name.to_owned())
}
