//! Secrets that the model names and never sees: `{{secret:NAME}}`, replaced as a request is sent.

use crate::secret::JobSecrets;

const BEGIN: &str = "{{secret:";
const END: &str = "}}";

/// Whether a text names a secret.
pub(super) fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The text with values in the places of names. An error is for the model, and repeats no value.
pub(super) fn fill(text: &str, secrets: &JobSecrets) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let Some((name, after)) = after.split_once(END) else {
            return Err(format!("`{BEGIN}` has no `{END}` after it"));
        };
        let mut values = secrets.environment();
        let Some((_, value)) = values.find(|(it, _)| *it == name) else {
            let names: Vec<_> = secrets.environment().map(|(name, _)| name).collect();
            return Err(match names.as_slice() {
                [] => "this job has no secrets".to_owned(),
                names => format!("this job has no such secret; it has: {}", names.join(", ")),
            });
        };
        filled.push_str(before);
        filled.push_str(value);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}
