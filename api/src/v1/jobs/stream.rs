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

/// Query parameters for the stream of a job.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamJob {
    /// Only events after this `seq`. The header `Last-Event-ID` overrides it.
    after: Option<i64>,
    /// Whether to send live output: `message.delta`, `reasoning.delta` and `tool.output`, or `log.trimmed` in their
    /// place; true by default.
    deltas: Option<bool>,
    /// Whether events have their type in the field `event`; true by default. Without it, every event reaches the
    /// `onmessage` handler of a browser's `EventSource`. The data has the type in both cases.
    event_names: Option<bool>,
}

/// Streams the log of a job as Server-Sent Events.
///
/// The stream sends the existing events first, and then new events until the job has ended. `id` is the `seq` of the
/// event, `event` is its type, and `data` is the event. After a lost connection, send the last received `id` as
/// `Last-Event-ID`, and no event is missed. Libraries for Server-Sent Events do this by themselves. 204 means that
/// the job has ended and no more events follow. The body ends cleanly only after the event that ends the log
/// (`job.completed`, `job.failed` or `job.cancelled`). In every other case the connection is aborted, and the client
/// should reconnect with `Last-Event-ID`.
#[utoipa::path(tag = "jobs",
    params(
        ("job_id" = JobId, Path, description = "The job"),
        ("Last-Event-ID" = Option<String>, Header, description = "The last `seq` that the client received"),
        StreamJob,
    ),
    responses(
        (status = 200, description = "The stream; each event's data is an `Event`", body = EventSchema, content_type = "text/event-stream"),
        (status = 204, description = "The job has ended and the client has received its whole log"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
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
        // Followers of a job share a position in its log, so a follower must not be ahead of the log.
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

/// Returns the `Last-Event-ID`, if it is not empty. Browsers send an empty one if no event with an id has arrived
/// yet.
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
