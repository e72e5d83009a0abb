//! JSON bodies whose errors name the field.

mod fault;
mod nul;
mod rate;
mod shape;

pub(crate) use fault::in_plain_words;
pub(crate) use rate::limit as limit_rate;

use actix_web::body::MessageBody;
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::error::PayloadError;
use actix_web::http::header::CONTENT_ENCODING;
use actix_web::middleware::Next;
use actix_web::web::BytesMut;
use actix_web::{Error, FromRequest, HttpMessage, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;

use crate::problem::ApiError;

/// The maximum size of a JSON body without files.
const MAX_BYTES: usize = 1024 * 1024;
/// The maximum size of a JSON body with inline files. Larger files must be uploaded with `POST /v1/assets`.
pub(crate) const MAX_BYTES_WITH_FILES: usize = 16 * 1024 * 1024;
/// The maximum number of values in a JSON body. Many short values take as much time and memory as long ones.
const MAX_VALUES: usize = 200_000;
/// The largest body that is parsed on the thread of the request. Larger bodies are parsed on a blocking thread.
const MAX_INLINE_BYTES: usize = 64 * 1024;

/// A JSON body of at most `LIMIT` bytes.
pub(crate) struct Json<T, const LIMIT: usize = MAX_BYTES>(pub(crate) T);

impl<T: DeserializeOwned + Send + 'static, const LIMIT: usize> FromRequest for Json<T, LIMIT> {
    type Error = ApiError;
    type Future = LocalBoxFuture<'static, Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_json = request
            .content_type()
            .eq_ignore_ascii_case("application/json");
        let mut payload = payload.take();
        Box::pin(async move {
            if !is_json {
                return Err(ApiError::UnsupportedMediaType(
                    "JSON, with `Content-Type: application/json`",
                ));
            }
            let bytes = read(&mut payload, LIMIT).await?;
            if bytes.len() <= MAX_INLINE_BYTES {
                return parse(&bytes).map(Self);
            }
            let parsed = actix_web::web::block(move || parse(&bytes)).await;
            parsed
                .map_err(|error| ApiError::Internal(error.into()))?
                .map(Self)
        })
    }
}

async fn read(payload: &mut Payload, limit: usize) -> Result<BytesMut, ApiError> {
    let mut bytes = BytesMut::new();
    let mut size = 0;
    // A client that is still sending does not read the response, so part of a body that is too large is read and
    // discarded.
    while let Some(chunk) = payload.next().await
        && size <= 2 * limit
    {
        let chunk = chunk?;
        size += chunk.len();
        if size <= limit {
            bytes.extend_from_slice(&chunk);
        }
    }
    if size > limit {
        let limit = limit as u64;
        return Err(ApiError::TooLarge { limit });
    }
    Ok(bytes)
}

impl From<PayloadError> for ApiError {
    fn from(error: PayloadError) -> Self {
        match error {
            PayloadError::Io(error) if error.kind() == std::io::ErrorKind::TimedOut => {
                Self::BodyTooSlow {
                    bytes_per_second: rate::MIN_BYTES_PER_SECOND,
                    stall: rate::MAX_STALL,
                }
            }
            error => Self::Malformed(format!("the body cannot be read: {error}")),
        }
    }
}

/// Parses a JSON body. Invalid JSON is a malformed request. Valid JSON of the wrong shape is an invalid request whose
/// error names the field.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // Serde would otherwise deserialize a list into a struct, field by field.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::field("", "must be an object, not a list"));
    }
    if count_values(bytes) > MAX_VALUES {
        return Err(ApiError::TooManyValues { limit: MAX_VALUES });
    }
    if let Some(place) = nul::find(bytes) {
        return Err(ApiError::field(
            place,
            "must not contain the character NUL (U+0000)",
        ));
    }
    let malformed = |error| ApiError::Malformed(format!("the body is not JSON: {error}"));
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let cause = error.inner();
        if cause.is_data() {
            let first = fault::describe(error.path(), &cause.to_string());
            ApiError::Invalid(shape::all_faults::<T>(bytes, first))
        } else {
            malformed(error.into_inner())
        }
    })?;
    deserializer.end().map_err(malformed)?;
    Ok(value)
}

/// Estimates the number of values in a JSON text: counts opening brackets and commas outside strings.
fn count_values(json: &[u8]) -> usize {
    let (mut count, mut is_string, mut is_escaped) = (0, false, false);
    for byte in json {
        match (is_string, byte) {
            (true, _) if is_escaped => is_escaped = false,
            (true, b'\\') => is_escaped = true,
            (_, b'"') => is_string = !is_string,
            (false, b'[' | b'{' | b',') => count += 1,
            _ => {}
        }
    }
    count
}

/// Rejects compressed bodies, because a small body could expand to a very large one.
pub(crate) async fn refuse_compressed(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<impl MessageBody>, Error> {
    let codings = request.headers().get_all(CONTENT_ENCODING);
    let is_plain = |coding: &str| coding.trim().eq_ignore_ascii_case("identity");
    let mut codings = codings.map(|value| value.to_str().unwrap_or_default());
    if codings.all(is_plain) {
        return Ok(next.call(request).await?.map_into_left_body());
    }
    let error = ApiError::UnsupportedMediaType("uncompressed, without `Content-Encoding`");
    let (request, _) = request.into_parts();
    Ok(ServiceResponse::from_err(error, request).map_into_right_body())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_counted_and_strings_are_not_looked_into() {
        for (json, count) in [
            ("1", 0),
            (r#"{"a": 1, "b": [2, 3]}"#, 4),
            (r#"{"a": "[{,\"[,\\"}"#, 1),
            ("[[],[],[]]", 6),
        ] {
            assert_eq!(count_values(json.as_bytes()), count, "{json}");
        }
    }
}
