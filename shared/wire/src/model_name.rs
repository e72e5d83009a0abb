//! The name of a model: `provider/id`.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The name of a model as `provider/id`. The id may contain slashes.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(try_from = "String", into = "String")]
#[cfg_attr(feature = "openapi", schema(example = "anthropic/claude-sonnet-4-5"))]
pub struct ModelName(String);

/// The text is not of the form `provider/id`.
#[derive(Debug, thiserror::Error)]
#[error(
    "a model is named `provider/id`, for example `anthropic/claude-sonnet-4-5` or `script/bash`"
)]
pub struct NotAModelName;

impl ModelName {
    /// Creates a name from its stored form without validation, because another release may have accepted other names.
    /// If the name has no slash, [`provider`](Self::provider) returns the whole name.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns the part before the first slash.
    pub fn provider(&self) -> &str {
        self.split().0
    }

    /// Returns the part after the first slash, which is the provider's name for the model.
    pub fn id(&self) -> &str {
        self.split().1
    }

    fn split(&self) -> (&str, &str) {
        self.0.split_once('/').unwrap_or((&self.0, ""))
    }
}

impl FromStr for ModelName {
    type Err = NotAModelName;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::try_from(text.to_owned())
    }
}

impl TryFrom<String> for ModelName {
    type Error = NotAModelName;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let named = text
            .split_once('/')
            .is_some_and(|(provider, id)| !provider.is_empty() && !id.is_empty());
        let plain = text.len() <= 200 && text.chars().all(|char| char.is_ascii_graphic());
        if named && plain {
            Ok(Self(text))
        } else {
            Err(NotAModelName)
        }
    }
}

impl From<ModelName> for String {
    fn from(name: ModelName) -> Self {
        name.0
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_slash_divides_provider_and_id() {
        let name: ModelName = "openrouter/meta/llama-4".parse().unwrap();
        assert_eq!((name.provider(), name.id()), ("openrouter", "meta/llama-4"));
        for wrong in [
            "",
            "gpt-5",
            "/gpt-5",
            "openai/",
            "openai/gpt 5",
            "openai/gpt\n5",
        ] {
            assert!(wrong.parse::<ModelName>().is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_stored_name_is_shown_as_it_is_whatever_its_form() {
        let name = ModelName::from_stored("next release: gpt-7".to_owned());
        assert_eq!(name.to_string(), "next release: gpt-7");
        assert_eq!((name.provider(), name.id()), ("next release: gpt-7", ""));
    }
}
