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

/// Which events to list.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListEvents {
    /// Only events after this `seq`.
    after: Option<i64>,
    /// The `next_cursor` of the page before; it wins over `after`.
    cursor: Option<String>,
    /// Events of a page, 1 to 1000; 100 if not given.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
    /// Only these types, separated by commas.
    #[param(example = "tool.started,tool.completed")]
    types: Option<String>,
}

type EventPage = Page<EventSchema>;

/// Lists a job's events, the oldest first. The log only grows, and its entries never change.
///
/// Live output has a retention of its own, 24 hours by default. After that, a `log.trimmed` stands in its place, unless
/// `types` are given.
///
/// `next_cursor` is null when the page reaches the end of the log. While the job runs, ask again with the last `seq` as
/// `after`, or follow `GET /v1/jobs/{job_id}/stream`.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job"), ListEvents), responses(
    (status = 200, description = "A page of the log", body = EventPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
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
        // A page has at most one more, which says that there is another page.
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
                "`types`: there is no event type `{name}`; there are: {}",
                known.join(", ")
            ))
        })
    });
    types.collect()
}
