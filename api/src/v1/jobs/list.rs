//! Lists of jobs, with filters.

use std::collections::BTreeMap;

use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, get};
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use shared::db::job::JobFilter;
use shared::db::{self, Pool};
use shared::id::ConversationId;
use shared::job::{Job, Status};
use utoipa::{IntoParams, ToSchema};

use super::request::instant;
use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query;

/// The maximum number of metadata filters in a request.
const MAX_METADATA_FILTERS: usize = 3;
const METADATA_PREFIX: &str = "metadata.";

/// Query parameters for a list of jobs.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListJobs {
    /// Only jobs with one of these statuses, separated by commas.
    #[param(example = "queued,running")]
    status: Option<String>,
    /// Only jobs of this skill.
    skill: Option<String>,
    /// Only jobs of this agent.
    agent: Option<String>,
    /// Only jobs of this conversation.
    conversation_id: Option<ConversationId>,
    /// Only jobs with this `external_id`.
    external_id: Option<String>,
    /// Only jobs that were accepted at this time or later.
    #[serde(default, deserialize_with = "instant")]
    created_after: Option<DateTime<Utc>>,
    /// Only jobs that were accepted before this time.
    #[serde(default, deserialize_with = "instant")]
    created_before: Option<DateTime<Utc>>,
    /// Whether to count the jobs by status; false by default. The counts cover the newest 10,000 jobs that match the
    /// other parameters, whatever their status.
    counts: Option<bool>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// A page of jobs.
#[derive(Serialize, ToSchema)]
pub(crate) struct JobPage {
    /// The jobs.
    pub(super) data: Vec<Job>,
    /// The cursor of the next page; null on the last page.
    #[schema(required)]
    pub(super) next_cursor: Option<String>,
    /// The number of jobs by status. Statuses without jobs are omitted. Only present with `counts=true`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(example = json!({"queued": 3, "completed": 120}))]
    pub(super) counts: Option<BTreeMap<String, i64>>,
}

/// Lists jobs, the newest first.
///
/// `metadata.KEY=VALUE` selects jobs whose metadata has exactly this value under this top-level key. A query may have
/// up to three of these filters. A value that reads as a number or a boolean also matches that number or boolean.
#[utoipa::path(tag = "jobs", params(ListJobs), responses(
    (status = 200, description = "A page of jobs", body = JobPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/jobs")]
pub(crate) async fn list_jobs(
    caller: Caller,
    pool: Data<Pool>,
    request: HttpRequest,
) -> Result<Json<JobPage>, ApiError> {
    let (metadata, others): (Vec<_>, Vec<_>) = query::pairs(request.query_string())
        .into_iter()
        .partition(|(name, _)| name.starts_with(METADATA_PREFIX));
    let asked: ListJobs = query::parse(&query::join(&others))?;
    let limit = cursor::limit(asked.limit)?;
    let before = cursor::parse(asked.cursor.as_deref())?;
    let with_counts = asked.counts.unwrap_or(false);
    let filter = asked.filter(metadata)?;
    let jobs = db::job::list(&**pool, caller.tenant, &filter, before, limit + 1).await?;
    let counts = if with_counts {
        Some(db::job::count(&**pool, caller.tenant, &filter).await?)
    } else {
        None
    };
    let Page { data, next_cursor } = Page::of(jobs, limit, |job| job.id.to_string());
    Ok(Json(JobPage {
        data,
        next_cursor,
        counts,
    }))
}

impl ListJobs {
    fn filter(self, metadata: Vec<(String, String)>) -> Result<JobFilter, ApiError> {
        if metadata.len() > MAX_METADATA_FILTERS {
            let detail =
                format!("the query may have at most {MAX_METADATA_FILTERS} `metadata.KEY`");
            return Err(ApiError::Malformed(detail));
        }
        let keys = metadata.into_iter();
        let metadata = keys.map(|(name, value)| (name[METADATA_PREFIX.len()..].to_owned(), value));
        Ok(JobFilter {
            statuses: parse_statuses(self.status.as_deref().unwrap_or_default())?,
            skill: self.skill,
            agent: self.agent,
            conversation: self.conversation_id,
            external_id: self.external_id,
            created_after: self.created_after,
            created_before: self.created_before,
            metadata: metadata.collect(),
        })
    }
}

fn parse_statuses(list: &str) -> Result<Vec<Status>, ApiError> {
    let names = list
        .split(',')
        .map(str::trim)
        .filter(|name| !name.is_empty());
    let statuses = names.map(|name| {
        let known = Status::ALL.into_iter().find(|status| status.as_str() == name);
        known.ok_or_else(|| {
            let names = Status::ALL.map(Status::as_str).join(", ");
            ApiError::Malformed(format!(
                "the query cannot be used: `status`: there is no status `{name}`; valid values: {names}"
            ))
        })
    });
    statuses.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_the_database_cannot_store_is_refused() {
        for time in ["-200000-01-01T00:00:00Z", "%2B200000-01-01T00:00:00Z"] {
            let parsed = query::parse::<ListJobs>(&format!("created_after={time}"));
            let error = parsed.err().expect("it is refused").to_string();
            let detail = "`created_after` must have a year of four digits";
            assert!(error.ends_with(detail), "{error}");
        }
    }
}
