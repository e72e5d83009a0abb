//! Reads of a table in a Supabase project, through its REST API.

use std::time::Duration;

use futures_util::future::BoxFuture;
use reqwest::header::{ACCEPT, CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};
use serde_json::Value;
use serde_json::value::RawValue;
use shared::tool::ToolName;

use super::table_query::TableQuery;
use super::{TIMEOUT, rows};
use crate::call::{Call, Done, Tool, ToolError};
use crate::context::ToolContext;
use crate::web::{self, ToolHttpResponse};
use worker_model::ToolSpec;

/// The secret with the URL of the project.
const URL: &str = "SUPABASE_URL";
/// The secret with a key of the project.
const KEY: &str = "SUPABASE_KEY";

// Error codes of Postgres and PostgREST.
const NO_COLUMN: &str = "42703";
const NO_TABLE: &str = "42P01";
const NO_TABLE_IN_CACHE: &str = "PGRST205";
const WRONG_TYPE: &str = "22P02";
const NO_OPERATOR: &str = "42883";

/// Reads rows of a table, or counts them.
pub(crate) struct ReadTable;

impl Tool for ReadTable {
    fn spec(&self) -> ToolSpec {
        ToolSpec {
            name: ToolName::ReadTable.as_str().into(),
            description:
                "Reads rows of one table or view of the job's Supabase project and returns them as JSON: rows, row_count, \
                 and a note if not all are shown. All filters must hold; there are no joins, functions or groups. With \
                 count it returns only the number of rows. It cannot write."
                    .to_owned(),
            input_schema: TableQuery::json_schema(),
        }
    }

    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        TIMEOUT
    }

    fn is_read_only(&self) -> bool {
        true
    }

    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>> {
        Box::pin(async move {
            let query: TableQuery = call.arguments()?;
            let secret = |name: &str| {
                let mut secrets = call.context.secrets.environment();
                let found = secrets.find_map(|(it, value)| (it == name).then(|| value.to_owned()));
                found.ok_or_else(|| ToolError::Reply(format!("the secret {name} is not set")))
            };
            let url = url(&secret(URL)?, &query).map_err(ToolError::Reply)?;
            let schema = query.schema.as_deref();
            let headers = headers(&secret(KEY)?, schema).map_err(ToolError::Reply)?;
            let got = web::get(&call, url, headers).await;
            result(&query, got.map_err(ToolError::Reply)?, &call).await
        })
    }
}

fn url(project: &str, query: &TableQuery) -> Result<Url, String> {
    if matches!(query.table.as_str(), "" | "." | "..") {
        return Err("/table: it is not the name of a table".to_owned());
    }
    let mut url =
        Url::parse(project.trim()).map_err(|_| format!("the secret {URL} is not a URL"))?;
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["rest", "v1", &query.table]);
    }
    url.query_pairs_mut()
        .clear()
        .extend_pairs(query.parameters()?);
    // A plus sign means a space only in forms.
    let encoded = url.query().unwrap_or_default().replace('+', "%20");
    url.set_query(Some(&encoded));
    Ok(url)
}

fn headers(key: &str, schema: Option<&str>) -> Result<HeaderMap, String> {
    let secret = |text: &str| {
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| format!("the secret {KEY} has characters that a key cannot have"))?;
        value.set_sensitive(true);
        Ok::<_, String>(value)
    };
    let mut headers = HeaderMap::from_iter([
        (HeaderName::from_static("apikey"), secret(key.trim())?),
        (
            HeaderName::from_static("authorization"),
            secret(&format!("Bearer {}", key.trim()))?,
        ),
        (ACCEPT, HeaderValue::from_static("application/json")),
        // The response has the number of all rows in the header Content-Range.
        (
            HeaderName::from_static("prefer"),
            HeaderValue::from_static("count=exact"),
        ),
    ]);
    if let Some(schema) = schema {
        let schema = HeaderValue::from_str(schema).map_err(|_| {
            "/schema: a schema with control characters is not supported; write its bare name"
                .to_owned()
        })?;
        headers.insert("accept-profile", schema);
    }
    Ok(headers)
}

/// Returns the result of the call, from the response of the project.
async fn result(
    query: &TableQuery,
    got: ToolHttpResponse,
    call: &Call<'_>,
) -> Result<Done, ToolError> {
    // A response with a part of the rows has status 206.
    if !matches!(got.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT) {
        return Ok(Done::error(refusal(&got)));
    }
    let total = got.headers.get(CONTENT_RANGE);
    let total = total.and_then(|range| range.to_str().ok()?.split_once('/')?.1.parse::<u64>().ok());
    if query.count {
        let total = total.ok_or_else(|| {
            ToolError::Reply("the project did not say how many rows there are".to_owned())
        })?;
        let row = RawValue::from_string(format!(r#"{{"count":{total}}}"#));
        return Ok(rows::done(&[row.expect("it is JSON")], call).await);
    }
    let rows: Vec<Box<RawValue>> = serde_json::from_slice(&got.body).map_err(|_| {
        let what = if got.is_cut {
            "too much data: ask for fewer columns or rows"
        } else {
            "something other than JSON rows"
        };
        ToolError::Reply(format!("the project answered with {what}"))
    })?;
    let done = rows::done(&rows, call).await;
    let is_more = total.is_some_and(|total| total > rows.len() as u64);
    Ok(match total.filter(|_| is_more) {
        Some(total) => Done {
            text: format!("{}\n[{total} rows meet the condition.]", done.text),
            ..done
        },
        None => done,
    })
}

/// Returns the project's error, with a hint for the model.
fn refusal(got: &ToolHttpResponse) -> String {
    let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
    let texts = ["message", "details", "hint", "msg", "error"]
        .iter()
        .filter_map(|name| body[name].as_str());
    let mut texts: Vec<_> = texts.collect();
    texts.extend(match body["code"].as_str() {
        Some(NO_COLUMN) => {
            Some("read one row with `limit` 1 and without `select` to see the columns")
        }
        Some(NO_TABLE | NO_TABLE_IN_CACHE) => {
            Some("check `table` and `schema`, in the spelling of the database")
        }
        Some(WRONG_TYPE | NO_OPERATOR) => {
            Some("check that each `value` in `filters` fits the type of its column")
        }
        _ => None,
    });
    format!(
        "the project answered with status {}: {}",
        got.status.as_u16(),
        texts.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn url_of(arguments: Value) -> Result<String, String> {
        let query: TableQuery = serde_json::from_value(arguments).unwrap();
        url("https://p.supabase.co/", &query).map(Into::into)
    }

    #[test]
    fn a_table_is_one_segment_of_the_path_and_a_value_one_of_the_query() {
        let filter = json!({"column": "a", "operator": "eq", "value": "ü&b=c#d%41+e f"});
        assert_eq!(
            url_of(json!({"table": "../x?y#z%2f", "filters": [filter]})).unwrap(),
            "https://p.supabase.co/rest/v1/..%2Fx%3Fy%23z%252f\
             ?select=*&and=%28a.eq.%22%C3%BC%26b%3Dc%23d%2541%2Be%20f%22%29&limit=1000"
        );
        for table in ["", ".", ".."] {
            let problem = url_of(json!({"table": table})).unwrap_err();
            assert!(problem.starts_with("/table: "), "{problem}");
        }
    }

    #[test]
    fn a_header_cannot_be_added_by_a_schema() {
        assert!(headers("key", Some("a\r\nx: y")).is_err());
        let headers = headers("key", Some("größe")).unwrap();
        assert_eq!(headers["accept-profile"].as_bytes(), "größe".as_bytes());
    }
}
