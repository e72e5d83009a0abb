//! `GET /v1/jobs/{id}/stream`.

use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Deserialize;
use shared::db::{self, Pool};
use shared::event::is_terminal;
use shared::id::JobId;
use utoipa::IntoParams;

use super::find;
use crate::auth::Caller;
use crate::cursor;
use crate::event_schema::EventSchema;
use crate::follower::{Follower, StreamFilter};
use crate::hub::Hub;
use crate::key_watch::KeyWatch;
use crate::problem::{ApiError, Problem};
use crate::query::Query;

/// From where to follow, and what.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamJob {
    /// Only events after this `seq`. The header `Last-Event-ID` wins.
    after: Option<i64>,
    /// Whether to send live text and output (`message.delta`, `reasoning.delta`, `tool.output`); true if not
    /// given.
    deltas: Option<bool>,
    /// Whether events have their type in the field `event`; true if not given. Without names, every event reaches the
    /// `onmessage` of a browser's `EventSource`; the type is in the data, too.
    event_names: Option<bool>,
}

/// Follows a job's log as Server-Sent Events: what is there, then what comes, until the job has ended.
///
/// `id` is the event's `seq`, `event` its type, `data` the event. A client that lost the connection sends the last
/// id it has as `Last-Event-ID`, as libraries for server-sent events do by themselves, and misses nothing. 204 says
/// that there is nothing more to come. The body ends cleanly only after the event that ends the log
/// (`job.completed`, `job.failed` or `job.cancelled`). In every other case the connection is aborted, and the client
/// comes back with `Last-Event-ID`.
#[utoipa::path(tag = "jobs",
    params(
        ("job_id" = JobId, Path, description = "The job"),
        ("Last-Event-ID" = Option<String>, Header, description = "The last `seq` that the client has"),
        StreamJob,
    ),
    responses(
        (status = 200, description = "The stream; each event's data is an `Event`", body = EventSchema, content_type = "text/event-stream"),
        (status = 204, description = "The job has ended and the client has all of its log"),
        (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/jobs/{job_id}/stream")]
pub(crate) async fn stream_job(
    caller: Caller,
    pool: Data<Pool>,
    hub: Data<Hub>,
    keys: Data<KeyWatch>,
    job: Path<JobId>,
    query: Query<StreamJob>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let asked = cursor::after(query.after)?;
    let after = last_event_id(&request)?.unwrap_or(asked);
    let job = find(&pool, caller.tenant, *job).await?;
    let has = db::event::list(&**pool, job.id, after.saturating_sub(1), &[], 1).await?;
    match has.first() {
        Some(last) if last.seq == after && is_terminal(&last.kind) => {
            return Ok(HttpResponse::NoContent().finish());
        }
        Some(_) => {}
        None if job.status.is_terminal() => return Ok(HttpResponse::NoContent().finish()),
        // Followers of a job share their place in its log, so nobody may be ahead of it.
        None => {
            return Err(ApiError::Malformed(format!(
                "the log has no event {after} yet"
            )));
        }
    }
    let follower = Follower::new(pool.get_ref().clone(), hub.get_ref().clone(), job.id, after);
    let shown = StreamFilter {
        deltas: query.deltas.unwrap_or(true),
        names: query.event_names.unwrap_or(true),
    };
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(follower.into_body(shown, keys.watch(caller.key))))
}

/// An empty id is what a browser sends that has seen no event with one.
fn last_event_id(request: &HttpRequest) -> Result<Option<i64>, ApiError> {
    let Some(header) = request.headers().get("Last-Event-ID") else {
        return Ok(None);
    };
    let text = header.to_str().unwrap_or("?").trim();
    if text.is_empty() {
        return Ok(None);
    }
    let invalid = || {
        ApiError::Malformed(
            "`Last-Event-ID` must be the `id` of an event of this stream".to_owned(),
        )
    };
    text.parse().map(Some).map_err(|_| invalid())
}
