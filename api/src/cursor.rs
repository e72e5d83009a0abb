//! Pagination cursors, which are opaque to clients.

use std::borrow::Cow;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{ArrayBuilder, ObjectBuilder, SchemaType, Type};
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::problem::ApiError;

/// The maximum number of entries in a page.
const MAX_LIMIT: i64 = 100;
const DEFAULT_LIMIT: i64 = 20;

/// Returns the sequence number after which to read a log: the parameter `after`, or 0.
pub(crate) fn after(seq: Option<i64>) -> Result<i64, ApiError> {
    match seq.unwrap_or(0) {
        seq @ 0.. => Ok(seq),
        _ => Err(ApiError::Malformed("`after` must not be negative".into())),
    }
}

/// A page of a list.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Page<T> {
    /// The entries.
    pub data: Vec<T>,
    /// The cursor of the next page, or null on the last page.
    pub next_cursor: Option<String>,
}

impl<T> Page<T> {
    /// Creates a page from up to `limit + 1` entries. The extra entry only shows that there is another page.
    pub(crate) fn of(mut data: Vec<T>, limit: i64, key: impl Fn(&T) -> String) -> Self {
        let has_more = data.len() as i64 > limit;
        data.truncate(limit as usize);
        let next_cursor = data
            .last()
            .filter(|_| has_more)
            .map(|last| URL_SAFE_NO_PAD.encode(key(last)));
        Self { data, next_cursor }
    }

    /// Creates a page from all entries, which must be sorted by key.
    pub(crate) fn of_all(
        all: impl IntoIterator<Item = T>,
        after: Option<&str>,
        limit: i64,
        key: impl Fn(&T) -> String,
    ) -> Self {
        let rest = all
            .into_iter()
            .filter(|entry| after.is_none_or(|after| key(entry).as_str() > after));
        Self::of(rest.take(limit as usize + 1).collect(), limit, key)
    }
}

/// Not derived: a derived schema would inline the schema of the entries instead of referring to it by name.
impl<T: ToSchema> PartialSchema for Page<T> {
    fn schema() -> RefOr<Schema> {
        let data = ArrayBuilder::new()
            .items(Ref::from_schema_name(T::name()))
            .description(Some("The entries."));
        let next_cursor = ObjectBuilder::new()
            .schema_type(SchemaType::from_iter([Type::String, Type::Null]))
            .description(Some("The cursor of the next page; null on the last page."));
        ObjectBuilder::new()
            .description(Some("A page of a list."))
            .property("data", data)
            .required("data")
            .property("next_cursor", next_cursor)
            .required("next_cursor")
            .into()
    }
}

impl<T: ToSchema> ToSchema for Page<T> {
    fn name() -> Cow<'static, str> {
        format!("{}Page", T::name()).into()
    }

    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((T::name().into_owned(), T::schema()));
        T::schemas(schemas);
    }
}

/// Validates the page size, and applies the default.
pub(crate) fn limit(asked: Option<i64>) -> Result<i64, ApiError> {
    match asked.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => Ok(limit),
        _ => Err(ApiError::Malformed(format!(
            "`limit` must be from 1 to {MAX_LIMIT}"
        ))),
    }
}

/// Decodes a cursor to text.
pub(crate) fn text(cursor: Option<&str>) -> Result<Option<String>, ApiError> {
    let Some(cursor) = cursor else {
        return Ok(None);
    };
    let decoded = URL_SAFE_NO_PAD
        .decode(cursor)
        .ok()
        .and_then(|bytes| String::from_utf8(bytes).ok())
        // No valid cursor contains a NUL, and Postgres does not accept it.
        .filter(|text| !text.contains('\0'));
    decoded.map(Some).ok_or_else(invalid)
}

/// Decodes a cursor to an id or a number.
pub(crate) fn parse<T: FromStr>(cursor: Option<&str>) -> Result<Option<T>, ApiError> {
    let text = text(cursor)?;
    let value = text.map(|text| text.parse()).transpose();
    value.map_err(|_| invalid())
}

/// The error for a cursor that does not belong to the list.
pub(crate) fn invalid() -> ApiError {
    ApiError::Malformed("`cursor` must be a `next_cursor` of this list".to_owned())
}
