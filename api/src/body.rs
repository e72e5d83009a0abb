//! JSON bodies whose errors name the field.

mod nul;

use actix_web::dev::Payload;
use actix_web::web::BytesMut;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use futures_util::StreamExt;
use futures_util::future::LocalBoxFuture;
use serde::de::DeserializeOwned;
use serde_path_to_error::{Path, Segment};

use crate::problem::ApiError;

/// The largest JSON body. Files of any size go to `POST /v1/assets`.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// A JSON body of at most so many bytes.
pub(crate) struct Json<T, const LIMIT: usize = MAX_BYTES>(pub(crate) T);

impl<T: DeserializeOwned + 'static, const LIMIT: usize> FromRequest for Json<T, LIMIT> {
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
            parse(&bytes).map(Self)
        })
    }
}

async fn read(payload: &mut Payload, limit: usize) -> Result<BytesMut, ApiError> {
    let mut bytes = BytesMut::new();
    let mut size = 0;
    // Who is still sending does not hear the answer, so some of what is too large is read, too.
    while let Some(chunk) = payload.next().await
        && size <= 2 * limit
    {
        let chunk = chunk
            .map_err(|error| ApiError::Malformed(format!("the body cannot be read: {error}")))?;
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

/// Text that is no JSON is malformed; JSON of another shape is invalid, at a place that has a name.
fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, ApiError> {
    // A list of values would otherwise pass for an object, field by field.
    if bytes.trim_ascii_start().starts_with(b"[") {
        return Err(ApiError::field("", "must be an object"));
    }
    if let Some(place) = nul::find(bytes) {
        return Err(ApiError::field(
            place,
            "must not contain the character NUL (U+0000)",
        ));
    }
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let pointer = pointer(error.path());
        let cause = error.into_inner();
        if cause.is_data() {
            ApiError::field(pointer, in_plain_words(&cause.to_string()))
        } else {
            ApiError::Malformed(format!("the body is not JSON: {cause}"))
        }
    })?;
    deserializer
        .end()
        .map_err(|error| ApiError::Malformed(format!("the body is not JSON: {error}")))?;
    Ok(value)
}

/// The path as a JSON Pointer (RFC 6901).
fn pointer(path: &Path) -> String {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { variant } => format!("/{variant}"),
            Segment::Unknown => String::new(),
        })
        .collect()
}

/// The pointer says where, so a line and column of the body would say it again; and names of our own
/// types say nothing to a client.
fn in_plain_words(message: &str) -> String {
    let message = message
        .rsplit_once(" at line ")
        .map_or(message, |(message, _)| message);
    let Some((found, expected)) = message.rsplit_once(", expected ") else {
        return message.to_owned();
    };
    let expected = match expected {
        "i16" | "u32" => "a whole number in range",
        expected if expected.starts_with("struct ") => "an object",
        expected => expected,
    };
    format!("{found}, expected {expected}")
}
