//! The secrets of a job that its skill declares, opened for one attempt.

mod event;
mod form;
mod redact;

use std::sync::Arc;

use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::job::{JobError, JobErrorCode};
use shared::secret::placeholder::{self, PlaceholderError};
use shared::secret::{MasterKeys, OpenError, SecretName, SecretNeed, SecretValue};

pub use redact::{Redactor, Tail};

/// The reason why the secrets of a job could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum SecretsError {
    /// A secret is missing or cannot be opened: the job fails.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The database could not be read.
    #[error("the secrets could not be read")]
    Database(#[from] db::Error),
}

/// The reason why the secret placeholders of a text could not be filled.
#[derive(Debug, thiserror::Error)]
pub enum FillError {
    /// A placeholder is malformed.
    #[error(transparent)]
    Placeholder(#[from] PlaceholderError),
    /// The job has no secrets.
    #[error("this job has no secrets")]
    None,
    /// The job has other secrets, but none with this name.
    #[error("this job has no such secret; it has: {0}")]
    Absent(String),
}

/// The secrets of a job. The job receives no others.
#[derive(Default)]
pub struct JobSecrets {
    values: Vec<(SecretName, SecretValue)>,
}

impl JobSecrets {
    /// Loads the secrets that a skill declares and the tenant has.
    pub async fn load(
        pool: &Pool,
        keys: Option<&MasterKeys>,
        tenant: TenantId,
        declared: &[SecretNeed],
    ) -> Result<Self, SecretsError> {
        if declared.is_empty() {
            return Ok(Self::default());
        }
        let names: Vec<_> = declared.iter().map(|need| need.name.clone()).collect();
        let stored = db::secret::list_sealed(pool, tenant, &names).await?;
        let is_stored = |name: &SecretName| stored.iter().any(|secret| secret.name == *name);
        let missing = declared.iter().filter(|need| !need.is_met(is_stored));
        let missing: Vec<_> = missing.map(|need| need.name.as_str()).collect();
        if !missing.is_empty() {
            return Err(not_set(&missing).into());
        }
        let opened = stored.into_iter().map(|secret| {
            let keys = keys.ok_or_else(no_master_key)?;
            match keys.open(tenant, &secret.name, &secret.sealed) {
                Ok(value) => Ok((secret.name, value)),
                Err(error) => Err(not_opened(&secret.name, &error)),
            }
        });
        Ok(Self {
            values: opened.collect::<Result<_, JobError>>()?,
        })
    }

    /// Returns the secrets as environment variables for commands of the job.
    pub fn environment(&self) -> impl Iterator<Item = (&str, &str)> {
        let pairs = self.values.iter();
        pairs.map(|(name, value)| (name.as_str(), value.expose()))
    }

    /// Returns a text with the placeholders replaced by values. An error contains no value.
    pub fn fill(&self, text: &str) -> Result<String, FillError> {
        placeholder::fill(text, |name| {
            let mut values = self.environment();
            let found = values.find(|(it, _)| *it == name);
            let (_, value) = found.ok_or_else(|| self.absent())?;
            Ok(value)
        })
    }

    fn absent(&self) -> FillError {
        let names: Vec<_> = self.environment().map(|(name, _)| name).collect();
        match names.as_slice() {
            [] => FillError::None,
            names => FillError::Absent(names.join(", ")),
        }
    }

    /// Returns the redactor of the values, or `None` if there are none.
    pub fn redactor(&self) -> Option<Arc<Redactor>> {
        let has_some = !self.values.is_empty();
        has_some.then(|| Arc::new(Redactor::new(self.environment())))
    }
}

fn not_set(names: &[&str]) -> JobError {
    let message = match names {
        [name] => {
            format!("the secret {name} is not set any more; set it with PUT /v1/secrets/{name}")
        }
        names => format!(
            "the secrets {} are not set any more; set each with PUT /v1/secrets/{{name}}",
            names.join(", ")
        ),
    };
    JobErrorCode::SecretUnavailable.with(message)
}

fn no_master_key() -> JobError {
    JobErrorCode::SecretUnavailable.with(
        "the skill needs secrets, and the worker has no master key to decrypt them: its operator has to set \
         SKILLET_MASTER_KEY to the value that the API has",
    )
}

fn not_opened(name: &SecretName, error: &OpenError) -> JobError {
    let remedy = match error {
        OpenError::UnknownKey { .. } => {
            "its operator has to add that key to SKILLET_PREVIOUS_MASTER_KEYS, or you set the secret again"
        }
        OpenError::Forged => "set the secret again",
    };
    let message = format!("the worker cannot open the secret {name}: {error}; {remedy}");
    JobErrorCode::SecretUnavailable.with(message)
}
