//! `GET /v1/jobs/{id}/events`.

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use serde::Deserialize;
use shared::db::{self, Pool};
use shared::event::{Event, EventData, EventKind, mark_trimmed};
use shared::id::JobId;
use utoipa::IntoParams;

use super::find;
use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::event_schema::EventSchema;
use crate::problem::{ApiError, Problem};
use crate::query::Query;

const MAX_LIMIT: i64 = 1000;
const DEFAULT_LIMIT: i64 = 100;

/// Query parameters for the events of a job.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListEvents {
    /// Only events after this `seq`.
    after: Option<i64>,
    /// The `next_cursor` of the previous page. It overrides `after`.
    cursor: Option<String>,
    /// The number of events per page, 1 to 1000; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// Only events of these types, separated by commas.
    #[param(example = "tool.started,tool.completed")]
    types: Option<String>,
}

type EventPage = Page<EventSchema>;

/// Lists the events of a job, the oldest first.
///
/// The log only grows, and its events never change. Live output has a separate retention, 24 hours by default. After
/// that, a `log.trimmed` event takes its place, unless `types` is given.
///
/// `next_cursor` is null when the page reaches the end of the log. While the job runs, send another request with the
/// last `seq` as `after`, or use `GET /v1/jobs/{job_id}/stream`.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job"), ListEvents), responses(
    (status = 200, description = "A page of the log", body = EventPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/jobs/{job_id}/events")]
pub(crate) async fn list_events(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
    query: Query<ListEvents>,
) -> Result<Json<Page<Event>>, ApiError> {
    let ListEvents {
        after,
        cursor,
        limit,
        types,
    } = query.into_inner();
    let after = match cursor::parse(cursor.as_deref())? {
        Some(cursor) => cursor,
        None => cursor::after(after)?,
    };
    let limit = match limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => limit,
        _ => {
            return Err(ApiError::Malformed(format!(
                "`limit` must be from 1 to {MAX_LIMIT}"
            )));
        }
    };
    let types = parse_types(types.as_deref().unwrap_or_default())?;
    find(&pool, caller.tenant, *job).await?;
    let mut events = db::event::list(&**pool, *job, after, &types, limit + 1).await?;
    if types.is_empty() {
        events = mark_trimmed(after, events);
        // One event more than the page has shows that another page follows.
        events.truncate(limit as usize + 1);
    }
    Ok(Json(Page::of(events, limit, |event| event.seq.to_string())))
}

fn parse_types(list: &str) -> Result<Vec<EventKind>, ApiError> {
    let names = list.split(',').map(str::trim);
    let types = names.filter(|name| !name.is_empty()).map(|name| {
        EventKind::parse(name).ok_or_else(|| {
            let known: Vec<_> = EventData::TYPES.iter().map(|known| known.name).collect();
            ApiError::Malformed(format!(
                "`types`: there is no event type `{name}`; valid values: {}",
                known.join(", ")
            ))
        })
    });
    types.collect()
}
