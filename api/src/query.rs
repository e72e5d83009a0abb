//! Query strings, parsed with errors that name the parameter.

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{Payload, ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{Error, FromRequest, HttpRequest};
use serde::de::DeserializeOwned;

use crate::body::in_plain_words;
use crate::problem::ApiError;

/// The parameter with a short-lived token. `parse` ignores it, so every path accepts it.
pub(crate) const TOKEN: &str = "token";

/// The parameters of a query.
pub(crate) struct Query<T>(pub(crate) T);

impl<T> Query<T> {
    /// Returns the parameters.
    pub(crate) fn into_inner(self) -> T {
        self.0
    }
}

impl<T> Deref for Query<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: DeserializeOwned> FromRequest for Query<T> {
    type Error = ApiError;
    type Future = Ready<Result<Self, ApiError>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(parse(request.query_string()).map(Self))
    }
}

/// Parses the parameters of a query string.
pub(crate) fn parse<T: DeserializeOwned>(query: &str) -> Result<T, ApiError> {
    let others = pairs(query);
    let others = join(others.iter().filter(|(name, _)| name != TOKEN));
    let pairs = form_urlencoded::parse(others.as_bytes());
    let deserializer = serde_urlencoded::Deserializer::new(pairs);
    serde_path_to_error::deserialize(deserializer).map_err(|error| {
        let name = error.path().to_string();
        let detail = in_plain_words(&error.inner().to_string());
        let detail = match name.as_str() {
            "." | "?" => detail,
            _ if detail.starts_with("unknown field") => detail,
            name => format!("`{name}` {detail}"),
        };
        ApiError::Malformed(format!("the query cannot be used: {detail}"))
    })
}

/// Returns the decoded names and values of a query string.
pub(crate) fn pairs(query: &str) -> Vec<(String, String)> {
    form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

/// Encodes names and values as a query string.
pub(crate) fn join<'a>(pairs: impl IntoIterator<Item = &'a (String, String)>) -> String {
    form_urlencoded::Serializer::new(String::new())
        .extend_pairs(pairs)
        .finish()
}

/// Rejects requests with a NUL in the query string, because the database cannot store it as text.
pub(crate) async fn refuse_nul(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, Error> {
    let mut parameters = request.query_string().split('&');
    let Some(wrong) = parameters.find(|parameter| parameter.contains("%00")) else {
        return Ok(next.call(request).await?.map_into_boxed_body());
    };
    let name = wrong.split('=').next().unwrap_or_default();
    let detail =
        format!("the query cannot be used: `{name}` must not contain the character NUL (%00)");
    let (request, _) = request.into_parts();
    Ok(ServiceResponse::from_err(
        ApiError::Malformed(detail),
        request,
    ))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "read only")]
    struct Parameters {
        limit: Option<i64>,
        name: Option<String>,
    }

    #[test]
    fn errors_name_the_parameter() {
        for (query, detail) in [
            ("limit=many", "`limit` must be a whole number"),
            ("limit=1&limit=2", "duplicate field `limit`"),
            ("size=1", "unknown field `size`; known fields: limit, name"),
        ] {
            let error = parse::<Parameters>(query).unwrap_err().to_string();
            assert!(error.ends_with(detail), "{query}: {error}");
        }
        assert!(parse::<Parameters>("limit=5&name=a%20b").is_ok());
    }
}
