//! Forms (`multipart/form-data`) with one part, a file.

use actix_multipart::MultipartError;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::ApiError;

/// The parts of an upload.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UploadForm, max_properties = 1)]
#[expect(dead_code, reason = "for the documentation; the parts are streamed")]
pub(crate) struct FileForm {
    /// The file, with its name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The bytes of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "for the documentation; the bytes are streamed")]
pub(crate) struct FileContent(Vec<u8>);

/// The form has other parts, or none.
pub(crate) fn no_file() -> ApiError {
    ApiError::Malformed("the form must have exactly one part, named `file`".to_owned())
}

/// The form is none.
pub(crate) fn malformed(error: MultipartError) -> ApiError {
    match error {
        MultipartError::ContentTypeMissing
        | MultipartError::ContentTypeParse
        | MultipartError::ContentTypeIncompatible => {
            ApiError::UnsupportedMediaType("a form, with `Content-Type: multipart/form-data`")
        }
        MultipartError::Payload(error) => error.into(),
        error => ApiError::Malformed(format!("the form cannot be read: {error}")),
    }
}
