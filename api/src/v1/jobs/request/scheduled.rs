//! Validation of a job request that a schedule repeats.

use super::CreateJob;
use crate::problem::FieldError;

impl CreateJob {
    /// Returns errors for fields that a schedule does not allow.
    pub(in crate::v1::jobs) fn check_scheduled(&self) -> Vec<FieldError> {
        let mut errors = Vec::new();
        if self.run_at.is_some() {
            let detail = "the schedule decides when its jobs start; leave it out";
            errors.push(FieldError::new("/run_at", detail));
        }
        for (place, input) in self.inputs.iter().enumerate() {
            if input.data.is_some() {
                let detail = "a schedule does not store file contents; upload the file to POST /v1/assets and name it as `asset_id`";
                errors.push(FieldError::new(format!("/inputs/{place}/data"), detail));
            }
        }
        errors
    }
}
