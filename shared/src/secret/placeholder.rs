//! Secret placeholders in texts: `{{secret:NAME}}`.

use super::{SecretName, SecretNameError};

const BEGIN: &str = "{{secret:";
const END: &str = "}}";

/// A placeholder in a text is malformed.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlaceholderError {
    /// The placeholder has no end.
    #[error("`{BEGIN}` has no `{END}` after it")]
    Open,
    /// The name is not a valid name of a secret.
    #[error(transparent)]
    Name(#[from] SecretNameError),
}

/// Whether a text contains a placeholder.
pub fn is_in(text: &str) -> bool {
    text.contains(BEGIN)
}

/// The secrets that the placeholders of a text name.
pub fn names(text: &str) -> Result<Vec<SecretName>, PlaceholderError> {
    let mut names = Vec::new();
    fill(text, |name| {
        names.push(SecretName::parse(name)?);
        Ok::<_, PlaceholderError>("")
    })?;
    Ok(names)
}

/// Replaces each placeholder with the text that `find` returns for its name.
pub fn fill<'t, 'v, E: From<PlaceholderError>>(
    text: &'t str,
    mut find: impl FnMut(&'t str) -> Result<&'v str, E>,
) -> Result<String, E> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(BEGIN) {
        let (name, after) = after.split_once(END).ok_or(PlaceholderError::Open)?;
        filled.push_str(before);
        filled.push_str(find(name)?);
        rest = after;
    }
    filled.push_str(rest);
    Ok(filled)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_in_a_text_are_found_and_their_places_filled() {
        let text = "Bearer {{secret:A_KEY}}:{{secret:B}} {{other}}";
        let found = names(text).unwrap();
        let found: Vec<_> = found.iter().map(SecretName::as_str).collect();
        assert_eq!(found, ["A_KEY", "B"]);
        let filled = fill(text, |name| {
            Ok::<_, PlaceholderError>(if name == "B" { "{{secret:C}}" } else { "a" })
        });
        assert_eq!(filled.unwrap(), "Bearer a:{{secret:C}} {{other}}");
        assert_eq!(names("{{secret:A"), Err(PlaceholderError::Open));
        assert!(matches!(
            names("{{secret:a b}}"),
            Err(PlaceholderError::Name(_))
        ));
    }
}
