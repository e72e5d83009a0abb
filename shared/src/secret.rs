//! Secrets: what a tenant's skills may know and nobody else reads again.

mod master_keys;
mod name;
pub mod placeholder;
mod value;

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use master_keys::{MasterKeyError, MasterKeys, OpenError, Sealed, generate_master_key};
pub use name::{SecretName, SecretNameError};
pub use value::{SecretValue, SecretValueError};

/// A secret as its owner sees it: all but the value.
#[derive(Clone, Debug, Serialize, Deserialize, ToSchema)]
pub struct Secret {
    /// Its name, and the variable in which skills find it.
    pub name: SecretName,
    /// When it was first set.
    pub created_at: DateTime<Utc>,
    /// When its value was last set.
    pub updated_at: DateTime<Utc>,
}

/// A secret that a skill asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SecretNeed {
    /// Its name, and the variable in which the skill finds it.
    pub name: SecretName,
    /// Whether jobs of the skill are refused without it.
    pub required: bool,
}

impl SecretNeed {
    /// Reads a declaration: `NAME`, or `NAME?` for what is not required.
    pub fn parse(word: &str) -> Result<Self, SecretNameError> {
        let (name, required) = match word.strip_suffix('?') {
            Some(name) => (name, false),
            None => (word, true),
        };
        let name = SecretName::parse(name)?;
        Ok(Self { name, required })
    }
}

impl fmt::Display for SecretNeed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mark = if self.required { "" } else { "?" };
        write!(f, "{}{mark}", self.name)
    }
}
