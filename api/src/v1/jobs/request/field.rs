//! The checks of single fields of a request for a job.

use serde_json::{Map, Value};
use shared::job::OutputSchema;
use shared::limits::Limits;
use shared::model_name::ModelName;
use shared::provider::{Providers, UnknownPrice};

use crate::problem::FieldError;

/// The longest reference of a client's own.
const MAX_EXTERNAL_ID_CHARS: usize = 255;
const MAX_METADATA_BYTES: usize = 16 * 1024;

/// An error if the job has a cost limit and its model has no known price.
pub(super) fn check_price(
    limits: &Limits,
    model: Option<&ModelName>,
    providers: &Providers,
) -> Option<FieldError> {
    let model = model.filter(|model| providers.price(model).is_none())?;
    limits.max_cost_usd?;
    let unknown = UnknownPrice(model.clone());
    Some(FieldError::new("/limits/max_cost_usd", unknown.to_string()))
}

/// The output schema, if it is valid.
pub(crate) fn check_output_schema(
    given: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Option<OutputSchema> {
    let checked = OutputSchema::try_from(given?.clone());
    checked
        .map_err(|error| errors.push(FieldError::new("/output_schema", error.to_string())))
        .ok()
}

/// An error if a client's own reference is empty or too long.
pub(crate) fn check_external_id(external_id: Option<&str>) -> Option<FieldError> {
    check_length("/external_id", external_id, MAX_EXTERNAL_ID_CHARS)
}

pub(super) fn check_length(pointer: &str, text: Option<&str>, most: usize) -> Option<FieldError> {
    let text = text?;
    let is_blank = text.trim().is_empty();
    (is_blank || text.chars().count() > most)
        .then(|| FieldError::new(pointer, format!("must have 1 to {most} characters")))
}

/// An error if a client attaches too much.
pub(crate) fn check_metadata(metadata: &Map<String, Value>) -> Option<FieldError> {
    let bytes = serde_json::to_string(metadata).map_or(0, |json| json.len());
    (bytes > MAX_METADATA_BYTES).then(|| {
        let detail = format!("must be at most {MAX_METADATA_BYTES} bytes of JSON");
        FieldError::new("/metadata", detail)
    })
}
