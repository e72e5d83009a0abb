//! Secrets of tenants: write-only values for jobs.

mod master_keys;
mod name;
pub mod placeholder;
mod value;

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use master_keys::{MasterKeyError, MasterKeys, OpenError, SealedValue, generate_master_key};
pub use name::{SecretName, SecretNameError};
pub use value::{SecretValue, SecretValueError};

/// A secret, without its value.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// The name of the secret. Commands find the value in the environment variable with this name.
    pub name: SecretName,
    /// The time when the secret was first set.
    pub created_at: DateTime<Utc>,
    /// The time when the value was last set.
    pub updated_at: DateTime<Utc>,
}

/// A secret that a skill declares.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretNeed {
    /// The name of the secret. Commands of the skill find the value in the environment variable with this name.
    pub name: SecretName,
    /// Whether jobs of the skill are refused without the secret.
    pub required: bool,
    /// Alternative secrets. One of all these secrets is enough.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alternatives: Vec<SecretName>,
}

impl SecretNeed {
    /// Parses a declaration: `NAME`, or `NAME?` for an optional secret.
    pub fn parse(word: &str) -> Result<Self, SecretNameError> {
        let (name, required) = match word.strip_suffix('?') {
            Some(name) => (name, false),
            None => (word, true),
        };
        let name = SecretName::parse(name)?;
        Ok(Self {
            name,
            required,
            alternatives: Vec::new(),
        })
    }

    /// Parses a declaration that can also be `ONE|OTHER`, which requires at least one of the secrets. Returns a need
    /// for each name.
    pub fn parse_alternatives(word: &str) -> Result<Vec<Self>, SecretNameError> {
        let mut names = word.split('|');
        let mut first = Self::parse(names.next().unwrap_or_default())?;
        let others = names.map(SecretName::parse);
        first.alternatives = others.collect::<Result<_, _>>()?;
        let others = first.alternatives.clone().into_iter().map(|name| Self {
            name,
            required: false,
            alternatives: Vec::new(),
        });
        let others: Vec<_> = others.collect();
        Ok([vec![first], others].concat())
    }

    /// Whether a job can run with the secrets that are set.
    pub fn is_met(&self, is_set: impl Fn(&SecretName) -> bool) -> bool {
        !self.required || self.names().any(is_set)
    }

    /// The name of the secret, then the names of its alternatives.
    pub fn names(&self) -> impl Iterator<Item = &SecretName> {
        std::iter::once(&self.name).chain(&self.alternatives)
    }
}

impl fmt::Display for SecretNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.names().map(SecretName::as_str).collect();
        let mark = if self.required { "" } else { "?" };
        write!(f, "{}{mark}", names.join("|"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_alternatives_one_is_enough() {
        let needs = SecretNeed::parse_alternatives("SMTP_SERVER|IMAP_SERVER").unwrap();
        let shown: Vec<_> = needs.iter().map(ToString::to_string).collect();
        assert_eq!(shown, ["SMTP_SERVER|IMAP_SERVER", "IMAP_SERVER?"]);
        let is_met = |set: &[&str]| {
            let is_set = |name: &SecretName| set.contains(&name.as_str());
            needs.iter().all(|need| need.is_met(is_set))
        };
        assert!(is_met(&["SMTP_SERVER"]) && is_met(&["IMAP_SERVER"]));
        assert!(!is_met(&[]) && !is_met(&["SMTP_PASSWORD"]));

        let plain = SecretNeed::parse_alternatives("API_KEY?").unwrap();
        assert_eq!(plain, [SecretNeed::parse("API_KEY?").unwrap()]);
        assert!(plain[0].is_met(|_| false));
        for wrong in ["A|", "|A", "A|B?", ""] {
            assert!(SecretNeed::parse_alternatives(wrong).is_err(), "{wrong}");
        }
    }
}
