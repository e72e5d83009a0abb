//! `GET /v1/events/stream`.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get};
use serde::Deserialize;
use shared::db::Pool;
use shared::feed::FeedCursor;
use shared::id::ConversationId;
use utoipa::IntoParams;

use super::filter::{self, MilestoneQuery};
use super::streamed::StreamedEvent;
use super::{open, parse_cursor};
use crate::auth::Caller;
use crate::feed_follower::FeedFollower;
use crate::feed_hub::FeedHub;
use crate::key_watch::KeyWatch;
use crate::problem::{ApiError, Problem};

/// Query parameters for the stream of milestones.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct StreamTenantEvents {
    /// Only events of these types, separated by commas.
    #[param(example = "job.completed,job.failed")]
    types: Option<String>,
    /// Only events of jobs of this skill.
    skill: Option<String>,
    /// Only events of jobs of this agent.
    agent: Option<String>,
    /// Only events of jobs of this conversation.
    conversation_id: Option<ConversationId>,
    /// Only events after this cursor: the `id` of an event, or the `cursor` of a page. By default, the stream starts
    /// now. The header `Last-Event-ID` overrides it.
    after: Option<String>,
}

/// Streams the milestones of all jobs as Server-Sent Events.
///
/// The stream does not end by itself. The first event is `cursor`, with the data `{"cursor": "…"}`. Everything that
/// was committed before this cursor is visible to other requests, and everything after it arrives in the stream. To
/// miss nothing, open the stream, list the jobs, and then apply the events. Further `cursor` events are sent while
/// the filters match no event.
///
/// `id` is the cursor of an event, and `event` is its type. After a lost connection, send the last received `id` as
/// `Last-Event-ID`, to any API process. If the cursor is too old, the response is 410 `cursor_expired`: list the jobs
/// again, and start a new stream.
///
/// Events of one job arrive in order. `metadata.KEY=VALUE` selects events of jobs whose metadata has this value under
/// this top-level key. A query may have up to three of these filters.
#[utoipa::path(tag = "events",
    params(
        ("Last-Event-ID" = Option<String>, Header, description = "The last `id` that the client received", pattern = "^[A-Za-z0-9_-]*$"),
        StreamTenantEvents,
    ),
    responses(
        (status = 200, description = "The stream; each event's data is a `FeedEvent`, except for `cursor`", body = StreamedEvent,
            content_type = "text/event-stream"),
        (status = 410, description = "Events after the cursor may be missing (`cursor_expired`)", body = Problem,
            content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/events/stream")]
pub(crate) async fn stream_tenant_events(
    caller: Caller,
    pool: Data<Pool>,
    hub: Data<FeedHub>,
    keys: Data<KeyWatch>,
    request: HttpRequest,
) -> Result<HttpResponse, ApiError> {
    let (asked, metadata) = filter::parse::<StreamTenantEvents>(request.query_string())?;
    let wanted = MilestoneQuery {
        types: asked.types,
        skill: asked.skill,
        agent: asked.agent,
        conversation_id: asked.conversation_id,
    };
    let wanted = wanted.filter(metadata)?;
    let state = open(&pool, caller.tenant).await?;
    let cursor = match (last_event_id(&request), &asked.after) {
        (Some(id), _) => parse_cursor("Last-Event-ID", id, &state)?,
        (None, Some(after)) => parse_cursor("after", after, &state)?,
        (None, None) => FeedCursor {
            epoch: state.epoch,
            position: state.now(),
        },
    };
    let (pool, hub) = (pool.get_ref().clone(), hub.get_ref().clone());
    let follower = FeedFollower::new(pool, hub, caller.tenant, wanted, cursor);
    Ok(HttpResponse::Ok()
        .content_type("text/event-stream")
        .insert_header(("X-Accel-Buffering", "no"))
        .streaming(follower.into_body(keys.watch(caller.key))))
}

/// Returns the `Last-Event-ID`, if it is not empty. Browsers send an empty one if no event with an id has arrived
/// yet.
fn last_event_id(request: &HttpRequest) -> Option<&str> {
    let header = request.headers().get("Last-Event-ID")?;
    let text = header.to_str().unwrap_or("?").trim();
    (!text.is_empty()).then_some(text)
}
