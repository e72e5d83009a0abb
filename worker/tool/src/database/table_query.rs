//! The arguments of `read_table`, and the PostgREST query for them.
//!
//! The query language is described in <https://docs.postgrest.org/en/stable/references/api/tables_views.html>.

#[cfg(test)]
mod tests;

use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;

/// The number of rows of a query without a limit, and the maximum limit.
const MAX_ROWS: u32 = 1_000;
/// The maximum number of filters, and of values in one filter.
const MAX_TERMS: usize = 100;

/// A request for rows of one table, or for their number.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct TableQuery {
    /// The table or view, as it is spelled in the database.
    pub(super) table: String,
    /// Its schema. Default: the one that the project shows first.
    pub(super) schema: Option<String>,
    /// The columns to return. Default: all.
    #[serde(default)]
    select: Vec<String>,
    /// Conditions. A row is returned if it meets all of them.
    #[serde(default)]
    #[schemars(length(max = MAX_TERMS))]
    filters: Vec<Filter>,
    /// The columns to sort by.
    #[serde(default)]
    order: Vec<Order>,
    /// The most rows to return. Default: 1000.
    #[schemars(range(min = 1, max = MAX_ROWS))]
    limit: Option<u32>,
    /// Rows to skip. Sort by a unique column to read page by page.
    offset: Option<u64>,
    /// Returns the number of rows instead of the rows.
    #[serde(default)]
    pub(super) count: bool,
}

/// A condition on one column.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Filter {
    column: String,
    operator: Operator,
    /// A text, number or boolean. For `in` a list of them; for `is` null, true or false; for `like` and `ilike` (any
    /// case) a text in which `%` stands for any characters and `_` for one.
    #[schemars(extend("type" = ["string", "number", "boolean", "null", "array"], "items" = {}))]
    value: Value,
    /// Reverses the condition.
    #[serde(default)]
    not: bool,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Operator {
    Eq,
    Neq,
    Lt,
    Lte,
    Gt,
    Gte,
    Like,
    Ilike,
    In,
    Is,
}

/// A column to sort by.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(inline)]
struct Order {
    column: String,
    /// Sorts from the largest to the smallest value.
    #[serde(default)]
    descending: bool,
    /// The place of rows without a value.
    nulls: Option<Nulls>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Nulls {
    First,
    Last,
}

/// The problem with an argument, and its location. The model reads it.
type Problem = String;

impl TableQuery {
    /// Returns the JSON Schema of the arguments.
    pub(super) fn json_schema() -> Value {
        schema_for!(Self).into()
    }

    /// Returns the query part of the URL as names and values, before percent-encoding.
    pub(super) fn parameters(&self) -> Result<Vec<(&'static str, String)>, Problem> {
        let mut parameters = Vec::new();
        let mut add = |name, value| parameters.push((name, value));
        if !self.count {
            add("select", self.columns()?);
        }
        let filters = self.filters.iter().enumerate();
        let filters: Vec<_> = filters
            .map(|(index, filter)| filter.term(&format!("/filters/{index}")))
            .collect::<Result<_, _>>()?;
        if !filters.is_empty() {
            // Filters are not parameters of their own, because a column may be named `select` or `limit`.
            add("and", format!("({})", filters.join(",")));
        }
        let order = self.order.iter().enumerate();
        let order: Vec<_> = order
            .map(|(index, order)| order.term(&format!("/order/{index}")))
            .collect::<Result<_, _>>()?;
        if !order.is_empty() && !self.count {
            add("order", order.join(","));
        }
        let limit = self.limit.unwrap_or(MAX_ROWS);
        if !(1..=MAX_ROWS).contains(&limit) {
            return Err(format!(
                "/limit: {limit} is not between 1 and {MAX_ROWS}; read more rows with `offset`"
            ));
        }
        if self.count {
            // The number of all rows is in a header. The body is not used.
            add("limit", "1".to_owned());
        } else {
            add("limit", limit.to_string());
            if let Some(offset) = self.offset {
                add("offset", offset.to_string());
            }
        }
        Ok(parameters)
    }

    fn columns(&self) -> Result<String, Problem> {
        if matches!(&self.select[..], [] | [_]) && self.select.iter().all(|it| it == "*") {
            return Ok("*".to_owned());
        }
        let columns = self.select.iter().enumerate();
        let columns: Result<Vec<_>, _> = columns
            .map(|(index, name)| column(name, &format!("/select/{index}")))
            .collect();
        Ok(columns?.join(","))
    }
}

impl Filter {
    fn term(&self, place: &str) -> Result<String, Problem> {
        let column = column(&self.column, &format!("{place}/column"))?;
        let value = self
            .value()
            .map_err(|problem| format!("{place}/value: {problem}"))?;
        let not = if self.not { "not." } else { "" };
        Ok(format!("{column}.{not}{}.{value}", self.operator.as_str()))
    }

    fn value(&self) -> Result<String, &'static str> {
        match (self.operator, &self.value) {
            (Operator::Is, value @ (Value::Null | Value::Bool(_))) => Ok(value.to_string()),
            (Operator::Is, _) => Err("`is` takes null, true or false; use `eq` for other values"),
            (Operator::In, Value::Array(values)) if (1..=MAX_TERMS).contains(&values.len()) => {
                let values: Result<Vec<_>, _> = values.iter().map(scalar).collect();
                Ok(format!("({})", values?.join(",")))
            }
            (Operator::In, _) => Err("`in` takes a list of 1 to 100 values"),
            (Operator::Like | Operator::Ilike, Value::String(text)) if text.contains('*') => Err(
                "`*` stands for any characters in a pattern and cannot be matched; use `%` or `_`",
            ),
            (Operator::Like | Operator::Ilike, value) if !value.is_string() => {
                Err("a pattern must be a string; use `eq` for other values")
            }
            (_, value) => scalar(value),
        }
    }
}

impl Operator {
    fn as_str(self) -> &'static str {
        match self {
            Self::Eq => "eq",
            Self::Neq => "neq",
            Self::Lt => "lt",
            Self::Lte => "lte",
            Self::Gt => "gt",
            Self::Gte => "gte",
            Self::Like => "like",
            Self::Ilike => "ilike",
            Self::In => "in",
            Self::Is => "is",
        }
    }
}

impl Order {
    fn term(&self, place: &str) -> Result<String, Problem> {
        let column = column(&self.column, &format!("{place}/column"))?;
        let direction = if self.descending { "desc" } else { "asc" };
        let nulls = match self.nulls {
            None => "",
            Some(Nulls::First) => ".nullsfirst",
            Some(Nulls::Last) => ".nullslast",
        };
        Ok(format!("{column}.{direction}{nulls}"))
    }
}

/// Returns a column in PostgREST syntax. It is quoted unless it is a plain word, so that no character in
/// it has a special meaning.
fn column(name: &str, place: &str) -> Result<String, Problem> {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || char == '_';
    let is_odd = |char: char| char.is_control() || matches!(char, '"' | '\\');
    match name {
        "" => Err(format!("{place}: the name of the column is empty")),
        name if name.contains(is_odd) => Err(format!(
            "{place}: a name with quotes, backslashes or control characters is not supported; write the bare name of \
             the column"
        )),
        name if name.chars().all(is_plain) => Ok(name.to_owned()),
        name => Ok(format!("\"{name}\"")),
    }
}

/// Returns a value in quotes, in which only the quote and the backslash have a special meaning.
fn scalar(value: &Value) -> Result<String, &'static str> {
    let text = match value {
        Value::String(text) => text.replace('\\', r"\\").replace('"', r#"\""#),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null => return Err("null cannot be compared; use the operator `is`"),
        Value::Array(_) => return Err("a list needs the operator `in`"),
        Value::Object(_) => {
            return Err("an object is not a value; compare with a string, number or boolean");
        }
    };
    Ok(format!("\"{text}\""))
}
