//! Validation of single fields of a job request.

use serde_json::{Map, Value};
use shared::job::OutputSchema;
use shared::limits::Limits;
use shared::model_list::ModelList;
use shared::provider::{Providers, SCRIPT, UnknownPrice};

use crate::problem::FieldError;

/// The maximum length of a client's own reference.
const MAX_EXTERNAL_ID_CHARS: usize = 255;
const MAX_METADATA_BYTES: usize = 16 * 1024;

/// Returns errors for models that cannot be used.
pub(crate) fn check_models(models: &ModelList, providers: &Providers) -> Vec<FieldError> {
    let check = |(place, model)| {
        let detail = match providers.find(model) {
            Err(error) => error.to_string(),
            Ok(None) if models.has_fallback() => {
                format!("`{SCRIPT}` is always available: name it alone, or leave it out")
            }
            Ok(_) => return None,
        };
        Some(FieldError::new(pointer_of(models, place), detail))
    };
    models.iter().enumerate().filter_map(check).collect()
}

/// Returns the pointer to one of the models in the request.
pub(crate) fn pointer_of(models: &ModelList, place: usize) -> String {
    if models.has_fallback() {
        format!("/model/{place}")
    } else {
        "/model".to_owned()
    }
}

/// Returns an error if the job has a cost limit and one of its models has no known price.
pub(super) fn check_price(
    limits: &Limits,
    models: Option<&ModelList>,
    providers: &Providers,
) -> Option<FieldError> {
    limits.max_cost_usd?;
    let mut models = models?.iter();
    let model = models.find(|model| providers.price(model).is_none())?;
    let unknown = UnknownPrice(model.clone());
    Some(FieldError::new("/limits/max_cost_usd", unknown.to_string()))
}

/// Returns the output schema, if it is valid.
pub(crate) fn check_output_schema(
    given: Option<&Value>,
    errors: &mut Vec<FieldError>,
) -> Option<OutputSchema> {
    let checked = OutputSchema::try_from(given?.clone());
    checked
        .map_err(|error| errors.push(FieldError::new("/output_schema", error.to_string())))
        .ok()
}

/// Returns an error if a client's own reference is empty or too long.
pub(crate) fn check_external_id(external_id: Option<&str>) -> Option<FieldError> {
    check_length("/external_id", external_id, MAX_EXTERNAL_ID_CHARS)
}

pub(super) fn check_length(pointer: &str, text: Option<&str>, most: usize) -> Option<FieldError> {
    let text = text?;
    let is_blank = text.trim().is_empty();
    (is_blank || text.chars().count() > most)
        .then(|| FieldError::new(pointer, format!("must have 1 to {most} characters")))
}

/// Returns an error if the metadata is too large.
pub(crate) fn check_metadata(metadata: &Map<String, Value>) -> Option<FieldError> {
    let bytes = serde_json::to_string(metadata).map_or(0, |json| json.len());
    (bytes > MAX_METADATA_BYTES).then(|| {
        let detail = format!("must be at most {MAX_METADATA_BYTES} bytes of JSON");
        FieldError::new("/metadata", detail)
    })
}
