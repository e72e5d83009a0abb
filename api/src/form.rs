//! Multipart forms (`multipart/form-data`) with one part, a file.

mod disposition;

use std::future::{Ready, ready};

use actix_multipart::{Field, Multipart, MultipartError};
use actix_web::dev::Payload;
use actix_web::http::header::{CONTENT_DISPOSITION, CONTENT_TYPE, HeaderMap, HeaderValue};
use actix_web::{FromRequest, HttpRequest};
use futures_util::StreamExt;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::problem::ApiError;
use disposition::Disposition;

/// The media type of a form, and the type that is passed to the multipart parser instead. For forms, the parser reads
/// the part names itself and rejects names that browsers send in a legacy encoding.
const FORM: &str = "multipart/form-data";
const MIXED: &str = "multipart/mixed";

/// A form that uploads one file.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = UploadForm, max_properties = 1)]
#[expect(dead_code, reason = "for the documentation; the parts are streamed")]
pub(crate) struct FileForm {
    /// The file to upload, with its file name.
    #[schema(value_type = String, format = Binary)]
    file: Vec<u8>,
}

/// The content of a file.
#[derive(ToSchema)]
#[schema(value_type = String, format = Binary)]
#[expect(dead_code, reason = "for the documentation; the bytes are streamed")]
pub(crate) struct FileContent(Vec<u8>);

/// A multipart form, read as a stream.
pub(crate) struct Form(Multipart);

/// One part of a form: its name, its file name, and its content as a stream.
pub(crate) struct FormPart {
    pub(crate) name: String,
    pub(crate) file_name: Option<String>,
    pub(crate) content: Field,
}

impl Form {
    /// Returns the next part. The previous part must have been read to its end.
    pub(crate) async fn next(&mut self) -> Option<Result<FormPart, ApiError>> {
        let field = self.0.next().await?;
        Some(field.map_err(malformed).and_then(|content| {
            let said = content.headers().get(CONTENT_DISPOSITION);
            let said = said.and_then(|said| Disposition::parse(said.as_bytes()));
            let Disposition { name, file_name } = said.ok_or_else(no_name)?;
            Ok(FormPart {
                name,
                file_name,
                content,
            })
        }))
    }
}

impl FromRequest for Form {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let headers = as_mixed(request.headers());
        let form = headers.map(|headers| Self(Multipart::new(&headers, payload.take())));
        ready(form.ok_or_else(no_form))
    }
}

/// Replaces the media type of a form with [`MIXED`], and keeps the boundary. Returns `None` if the body is not a form.
fn as_mixed(headers: &HeaderMap) -> Option<HeaderMap> {
    let value = headers.get(CONTENT_TYPE)?.to_str().ok()?.trim_start();
    let (kind, parameters) = value.split_at_checked(FORM.len())?;
    if !kind.eq_ignore_ascii_case(FORM) {
        return None;
    }
    let mixed = HeaderValue::from_str(&format!("{MIXED}{parameters}")).ok()?;
    let mut headers = HeaderMap::new();
    headers.insert(CONTENT_TYPE, mixed);
    Some(headers)
}

/// The error for a form that does not have exactly one part named `file`.
pub(crate) fn no_file() -> ApiError {
    ApiError::Malformed("the form must have exactly one part, named `file`".to_owned())
}

/// The error for a form that cannot be read.
pub(crate) fn malformed(error: MultipartError) -> ApiError {
    match error {
        MultipartError::ContentTypeMissing
        | MultipartError::ContentTypeParse
        | MultipartError::ContentTypeIncompatible => no_form(),
        MultipartError::Payload(error) => error.into(),
        error => ApiError::Malformed(format!("the form cannot be read: {error}")),
    }
}

fn no_form() -> ApiError {
    ApiError::UnsupportedMediaType("a form, with `Content-Type: multipart/form-data`")
}

fn no_name() -> ApiError {
    ApiError::Malformed(
        "the form cannot be read: a part has no header `Content-Disposition: form-data; name=\"file\"`"
            .to_owned(),
    )
}
