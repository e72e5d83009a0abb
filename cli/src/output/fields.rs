//! One entry as lines of `name  value`.

use serde_json::Value;

use super::cell::{Cell, text_of};
use super::view::View;
use crate::terminal::print;

/// Prints the fields of an entry that have a value. The names are those of the API.
pub(crate) fn print_fields(entry: &Value) -> anyhow::Result<()> {
    let view = View::of_stdout();
    let fields: Vec<(&String, &Value)> = entry
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !is_empty(value))
        .collect();
    let width = fields
        .iter()
        .map(|(name, _)| name.len())
        .max()
        .unwrap_or_default();
    for (name, value) in fields {
        let cell = match name.as_str() {
            "status" => Cell::status(value),
            name if name.ends_with("_at") || name.ends_with("_since") => Cell::time(value),
            _ => Cell::Text(text_of(value)),
        };
        print(&format!("{name:width$}  {}", cell.styled(&view)))?;
    }
    Ok(())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(elements) => elements.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
