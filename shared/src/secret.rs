//! Secrets: what a tenant's skills may know and nobody else reads again.

mod master_keys;
mod name;
mod value;

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
