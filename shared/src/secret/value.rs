//! Values of secrets.

use secrecy::{ExposeSecret, SecretString};

const MIN_BYTES: usize = 8;
const MAX_BYTES: usize = 64 * 1024;

/// The value of a secret. Only [`expose`](Self::expose) reveals it, its `Debug` does not. It is overwritten in memory
/// when it is dropped.
#[derive(Clone, Debug)]
pub struct SecretValue(SecretString);

/// The reason why a text cannot be the value of a secret.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SecretValueError {
    /// The value is too short to be distinguished from other text.
    #[error(
        "must have at least {MIN_BYTES} bytes, not counting spaces at its ends: in logs and results, a shorter value \
         would be redacted wherever the same text appears by chance"
    )]
    TooShort,
    /// The value is too long for an environment variable.
    #[error("must have at most {MAX_BYTES} bytes; a skill receives it in an environment variable")]
    TooLong,
    /// The value contains NUL, which an environment variable cannot contain.
    #[error("must not contain NUL, which an environment variable cannot contain")]
    Nul,
}

impl SecretValue {
    /// Checks a value.
    pub fn parse(text: String) -> Result<Self, SecretValueError> {
        let value = Self::unchecked(text);
        let text = value.expose();
        if text.trim().len() < MIN_BYTES {
            Err(SecretValueError::TooShort)
        } else if text.len() > MAX_BYTES {
            Err(SecretValueError::TooLong)
        } else if text.contains('\0') {
            Err(SecretValueError::Nul)
        } else {
            Ok(value)
        }
    }

    /// Wraps a value that was checked before it was stored.
    pub(super) fn unchecked(text: String) -> Self {
        Self(text.into())
    }

    /// Returns the value in plain text.
    pub fn expose(&self) -> &str {
        self.0.expose_secret()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_long_enough_to_be_recognised_and_fits_a_variable() {
        let parse = |text: &str| SecretValue::parse(text.to_owned());
        for good in ["12345678", " 12345678\n", "größer", &"x".repeat(MAX_BYTES)] {
            assert_eq!(parse(good).unwrap().expose(), good);
        }
        let long = "x".repeat(MAX_BYTES + 1);
        for (bad, expected) in [
            ("", SecretValueError::TooShort),
            ("1234567", SecretValueError::TooShort),
            ("1234567 \n", SecretValueError::TooShort),
            ("12345678\0", SecretValueError::Nul),
            (&long, SecretValueError::TooLong),
        ] {
            assert_eq!(parse(bad).unwrap_err(), expected);
        }
    }

    #[test]
    fn debug_does_not_show_it() {
        let value = SecretValue::parse("correct horse".to_owned()).unwrap();
        assert!(!format!("{value:?}").contains("horse"));
    }
}
