//! `GET /v1/events`.

use actix_web::web::{Data, Json};
use actix_web::{HttpRequest, get};
use serde::{Deserialize, Serialize};
use shared::db::{self, Pool};
use shared::feed::{FeedCursor, FeedEvent, FeedPosition};
use shared::id::ConversationId;
use utoipa::{IntoParams, ToSchema};

use super::filter::{self, MilestoneQuery};
use super::{open, parse_cursor};
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

const MAX_LIMIT: i64 = 1000;
const DEFAULT_LIMIT: i64 = 100;
/// The number of milestones that are read from the database at once.
const PAGE: i64 = 500;
/// The maximum number of milestones that are read for one response, however few of them match the filter.
const MAX_READ: i64 = 10_000;

/// Query parameters for a list of milestones.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListTenantEvents {
    /// Only events of these types, separated by commas.
    #[param(example = "job.completed,job.failed")]
    types: Option<String>,
    /// Only events of jobs of this skill.
    skill: Option<String>,
    /// Only events of jobs of this agent.
    agent: Option<String>,
    /// Only events of jobs of this conversation.
    conversation_id: Option<ConversationId>,
    /// Only events after this cursor: the `cursor` of a page, or the `id` of an event of the stream.
    after: Option<String>,
    /// The `next_cursor` of the previous page. It overrides `after`.
    cursor: Option<String>,
    /// The number of events per page, 1 to 1000; 100 by default.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<i64>,
}

/// A page of milestones.
#[derive(Serialize, ToSchema)]
pub(crate) struct FeedPage {
    /// The events.
    data: Vec<FeedEvent>,
    /// The cursor of the next page; null on the last page.
    #[schema(required)]
    next_cursor: Option<String>,
    /// The position of the end of this page. Use it as `after` to get later events from the stream or from another
    /// page.
    cursor: String,
}

/// Lists the milestones of all jobs, the oldest first.
///
/// Recording starts when the tenant first requests its events or has a webhook, and stops 30 days after the last use.
/// Events of deleted jobs are omitted. A page may have fewer entries than `limit`, or none, although more pages
/// follow: the last page is the one whose `next_cursor` is null.
///
/// `metadata.KEY=VALUE` selects events of jobs whose metadata has this value under this top-level key. A query may
/// have up to three of these filters.
#[utoipa::path(tag = "events", params(ListTenantEvents), responses(
    (status = 200, description = "A page of events", body = FeedPage),
    (status = 410, description = "Events after the cursor may be missing (`cursor_expired`)", body = Problem,
        content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/events")]
pub(crate) async fn list_tenant_events(
    caller: Caller,
    pool: Data<Pool>,
    request: HttpRequest,
) -> Result<Json<FeedPage>, ApiError> {
    let (asked, metadata) = filter::parse::<ListTenantEvents>(request.query_string())?;
    let limit = match asked.limit.unwrap_or(DEFAULT_LIMIT) {
        limit @ 1..=MAX_LIMIT => limit as usize,
        _ => {
            return Err(ApiError::Malformed(format!(
                "`limit` must be from 1 to {MAX_LIMIT}"
            )));
        }
    };
    let wanted = MilestoneQuery {
        types: asked.types,
        skill: asked.skill,
        agent: asked.agent,
        conversation_id: asked.conversation_id,
    };
    let wanted = wanted.filter(metadata)?;
    let state = open(&pool, caller.tenant).await?;
    let mut position = match (&asked.cursor, &asked.after) {
        (Some(text), _) => parse_cursor("cursor", text, &state)?.position,
        (None, Some(text)) => parse_cursor("after", text, &state)?.position,
        (None, None) => FeedPosition::before(0),
    };
    let (mut data, mut read, mut has_more) = (Vec::new(), 0, true);
    while has_more && data.len() < limit && read < MAX_READ {
        let page = db::feed::list(&**pool, caller.tenant, position, PAGE).await?;
        has_more = page.len() as i64 == PAGE;
        read += PAGE;
        for entry in page {
            if data.len() == limit {
                has_more = true;
                break;
            }
            position = entry.position;
            if wanted.lets_through(&entry.event) {
                data.push(entry.event);
            }
        }
    }
    // If the feed ends here, everything up to `state.now()` has been read.
    if !has_more {
        position = position.max(state.now());
    }
    let epoch = state.epoch;
    let cursor = FeedCursor { epoch, position }.to_string();
    Ok(Json(FeedPage {
        data,
        next_cursor: has_more.then(|| cursor.clone()),
        cursor,
    }))
}
