//! Parsers of values.

use std::str::FromStr;

use serde_json::Value;
use shared::id::InvalidId;

/// Parses an id of type `T`.
pub(crate) fn parse_id<T: FromStr<Err = InvalidId>>(text: &str) -> Result<T, InvalidId> {
    text.parse()
}

/// Parses `NAME=VALUE`.
pub(crate) fn parse_pair(text: &str) -> Result<(String, String), &'static str> {
    let (name, value) = text.split_once('=').ok_or("must be NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}

/// Parses `NAME=VALUE`. The value is JSON, or else text.
pub(crate) fn parse_parameter(text: &str) -> Result<(String, Value), &'static str> {
    let (name, value) = parse_pair(text)?;
    let value = serde_json::from_str(&value).unwrap_or_else(|_| value.into());
    Ok((name, value))
}
