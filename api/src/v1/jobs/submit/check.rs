//! Validation of well-formed requests against skills, agents, models and assets.

use std::collections::{HashMap, HashSet};

use shared::db;
use shared::job::Target;
use shared::secret::{SecretName, SecretNeed};

use super::{IndexedError, Submitter, ValidatedJob};
use crate::problem::{ApiError, FieldError};
use crate::v1::jobs::budget::check_budget;
use crate::v1::jobs::request::pointer_of;

/// The maximum number of files that come as `data` in all requests together. They are stored one after the other.
const MAX_INLINE: usize = 200;

impl Submitter<'_> {
    /// Returns all errors, each with the place of its request.
    pub(super) async fn check(
        &self,
        validated: &[ValidatedJob],
    ) -> Result<Vec<IndexedError>, ApiError> {
        let mut wrong = check_inline(validated);
        wrong.extend(self.check_models(validated).await?);
        wrong.extend(self.check_secrets(validated).await?);
        if wrong.is_empty() {
            let models = validated
                .iter()
                .map(|validated_job| &validated_job.parsed.models);
            wrong = check_budget(self.caller, models, self.pool, self.providers).await?;
        }
        Ok(wrong)
    }

    /// Returns errors for models whose provider has no API key. Only workers have the API keys. Without a live worker
    /// there is no error, and the job waits.
    pub(super) async fn check_models(
        &self,
        validated: &[ValidatedJob],
    ) -> Result<Vec<IndexedError>, ApiError> {
        let mut lacked = HashMap::new();
        let mut wrong = Vec::new();
        for (place, validated_job) in validated.iter().enumerate() {
            let models = &validated_job.parsed.models;
            for (number, model) in models.iter().enumerate() {
                let Some(missing) = self.providers.missing_key(model) else {
                    continue;
                };
                let is_lacked = match lacked.get(model.provider()) {
                    Some(is_lacked) => *is_lacked,
                    None => db::worker::lacks_provider(self.pool, model.provider()).await?,
                };
                lacked.insert(model.provider(), is_lacked);
                if is_lacked {
                    let pointer = pointer_of(models, number);
                    wrong.push((place, FieldError::new(pointer, missing.to_string())));
                }
            }
        }
        Ok(wrong)
    }

    /// Returns errors for jobs whose required secrets are not set.
    pub(super) async fn check_secrets(
        &self,
        validated: &[ValidatedJob],
    ) -> Result<Vec<IndexedError>, ApiError> {
        let needed = validated
            .iter()
            .flat_map(|validated_job| &validated_job.parsed.secrets);
        let needed: HashSet<_> = needed.flat_map(SecretNeed::names).cloned().collect();
        if needed.is_empty() {
            return Ok(Vec::new());
        }
        let needed: Vec<_> = needed.into_iter().collect();
        let missing = db::secret::list_missing(self.pool, self.caller.tenant, &needed).await?;
        let wrong = validated
            .iter()
            .enumerate()
            .filter_map(|(place, validated_job)| {
                let is_set = |name: &SecretName| !missing.contains(name);
                let secrets = validated_job.parsed.secrets.iter();
                let lacks: Vec<_> = secrets.filter(|need| !need.is_met(is_set)).collect();
                let target = &validated_job.parsed.chosen.target;
                (!lacks.is_empty()).then(|| (place, lacking(target, &lacks)))
            });
        Ok(wrong.collect())
    }
}

fn lacking(target: &Target, secrets: &[&SecretNeed]) -> FieldError {
    let any_of = |need: &&SecretNeed| {
        let names: Vec<_> = need.names().map(SecretName::as_str).collect();
        names.join(" or ")
    };
    let needed: Vec<_> = secrets.iter().map(any_of).collect();
    let names = secrets.iter().flat_map(|need| need.names());
    let paths: Vec<_> = names
        .map(|name| format!("PUT /v1/secrets/{name}"))
        .collect();
    let (pointer, name) = match target {
        Target::Skill(name) => ("/skill", name),
        Target::Agent(name) => ("/agent", name),
    };
    let detail = format!(
        "`{name}` needs secrets that are not set: {}; set them with {}",
        needed.join(", "),
        paths.join(", "),
    );
    FieldError::new(pointer, detail)
}

fn check_inline(validated: &[ValidatedJob]) -> Vec<IndexedError> {
    let mut count = 0;
    let too_many = validated.iter().position(|validated_job| {
        count += validated_job.parsed.inline.len();
        count > MAX_INLINE
    });
    let detail = format!(
        "the jobs up to this one send more than {MAX_INLINE} files as `data`; upload some to POST /v1/assets first"
    );
    let error = |place| (place, FieldError::new("/inputs", detail));
    too_many.map(error).into_iter().collect()
}
