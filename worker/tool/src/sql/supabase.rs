//! Queries of a Supabase project, through its REST API: it has no request that runs SQL, so the SQL is translated, and
//! what cannot be translated is not sent.

use reqwest::header::{ACCEPT, CONTENT_RANGE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{StatusCode, Url};
use schemars::{JsonSchema, schema_for};
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use shared::tool::ToolName;

use super::postgrest::Request;
use super::rows;
use crate::call::{Call, Done, ToolError};
use crate::web::{self, Got};
use worker_model::ToolSpec;

/// The secret with the address of the project.
pub(super) const URL: &str = "SUPABASE_URL";
/// The secret with a key of the project.
pub(super) const KEY: &str = "SUPABASE_KEY";

/// Rows of a query that sets no limit.
const DEFAULT_LIMIT: &str = "1000";

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Arguments {
    /// One SELECT from one table.
    sql: String,
}

/// How the model sees it.
pub(super) fn spec() -> ToolSpec {
    ToolSpec {
        name: ToolName::SqlQuery.as_str().into(),
        description: "Reads rows of a table of the job's Supabase project, and returns them as JSON: rows, row_count, and \
                      a note if not all are shown. It takes one SELECT from one table, with columns, casts and aliases \
                      or count(*), WHERE with comparisons, LIKE, ILIKE, IN, BETWEEN, IS NULL, AND, OR and NOT, ORDER BY, \
                      LIMIT and OFFSET; no joins, functions or groups. Nothing can be written."
            .to_owned(),
        input_schema: schema_for!(Arguments).into(),
    }
}

/// Asks the project.
pub(super) async fn ask(call: &Call<'_>) -> Result<Done, ToolError> {
    let Arguments { sql } = call.arguments()?;
    let request = Request::parse(&sql).map_err(ToolError::Reply)?;
    let secret = |name: &str| {
        let mut secrets = call.context.secrets.environment();
        let found = secrets.find_map(|(it, value)| (it == name).then(|| value.to_owned()));
        found.ok_or_else(|| ToolError::Reply(format!("the secret {name} is not set")))
    };
    let url = url(&secret(URL)?, &request).map_err(ToolError::Reply)?;
    let headers = headers(&secret(KEY)?, &request).map_err(ToolError::Reply)?;
    let got = web::get(call, url, headers).await;
    tell(&request, got.map_err(ToolError::Reply)?, call).await
}

fn url(project: &str, request: &Request) -> Result<Url, String> {
    let broken = |_| format!("the secret {URL} is no URL");
    let mut url = Url::parse(project.trim()).map_err(broken)?;
    if let Ok(mut path) = url.path_segments_mut() {
        path.pop_if_empty().extend(["rest", "v1", &request.table]);
    }
    {
        let mut query = url.query_pairs_mut();
        query.clear();
        for (name, value) in &request.query {
            query.append_pair(name, value);
        }
        let is_limited = request.query.iter().any(|(name, _)| *name == "limit");
        if request.counts {
            query.append_pair("limit", "1");
        } else if !is_limited {
            query.append_pair("limit", DEFAULT_LIMIT);
        }
    }
    Ok(url)
}

fn headers(key: &str, request: &Request) -> Result<HeaderMap, String> {
    let secret = |text: &str| {
        let mut value = HeaderValue::from_str(text)
            .map_err(|_| format!("the secret {KEY} has characters in it that no key has"))?;
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
        // How many there are stands in the answer's Content-Range.
        (
            HeaderName::from_static("prefer"),
            HeaderValue::from_static("count=exact"),
        ),
    ]);
    if let Some(schema) = &request.schema {
        let schema = HeaderValue::from_str(schema)
            .map_err(|_| "the name of the schema has odd characters in it".to_owned())?;
        headers.insert("accept-profile", schema);
    }
    Ok(headers)
}

async fn tell(request: &Request, got: Got, call: &Call<'_>) -> Result<Done, ToolError> {
    // A part of the rows is answered with 206.
    if !matches!(got.status, StatusCode::OK | StatusCode::PARTIAL_CONTENT) {
        return Ok(Done::error(refusal(&got)));
    }
    let total = got.headers.get(CONTENT_RANGE);
    let total = total.and_then(|range| range.to_str().ok()?.split_once('/')?.1.parse::<u64>().ok());
    if request.counts {
        let total = total.ok_or_else(|| {
            ToolError::Reply("the project did not say how many rows there are".to_owned())
        })?;
        let row = RawValue::from_string(format!(r#"{{"count":{total}}}"#));
        return Ok(rows::done(&[row.expect("it is JSON")], call).await);
    }
    let rows: Vec<Box<RawValue>> = serde_json::from_slice(&got.body).map_err(|_| {
        let what = if got.is_cut {
            "more than is read: ask for fewer columns or rows"
        } else {
            "no rows of JSON"
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

/// What the project says of a request that it does not like.
fn refusal(got: &Got) -> String {
    let body: Value = serde_json::from_slice(&got.body).unwrap_or_default();
    let said = ["message", "details", "hint", "msg", "error"]
        .iter()
        .filter_map(|name| body[name].as_str());
    let said: Vec<_> = said.collect();
    format!(
        "the project answered with status {}: {}",
        got.status.as_u16(),
        said.join("; ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_one_segment_of_the_path_whatever_it_is_called() {
        let request = Request::parse(r#"select * from "../x?y" where a = 'ü&b'"#).unwrap();
        let url = url("https://p.supabase.co/", &request).unwrap();
        assert_eq!(
            url.as_str(),
            "https://p.supabase.co/rest/v1/..%2Fx%3Fy?select=*&and=%28a.eq.%22%C3%BC%26b%22%29&limit=1000"
        );
    }
}
