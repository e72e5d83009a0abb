//! A conversation with its messages.

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use serde::{Deserialize, Serialize};
use shared::conversation::{Conversation, Message};
use shared::db::conversation::Position;
use shared::db::{self, Pool};
use shared::id::ConversationId;
use utoipa::{IntoParams, ToSchema};

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, Problem};
use crate::query::Query;

type MessagePage = Page<Message>;

/// A conversation, and a page of its messages.
#[derive(Serialize, Deserialize, ToSchema)]
pub(crate) struct ConversationWithMessages {
    #[serde(flatten)]
    conversation: Conversation,
    /// The messages, the oldest first.
    messages: MessagePage,
}

/// Query parameters for the messages of a conversation.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListMessages {
    /// The number of messages per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Returns a conversation with its messages, the oldest first.
#[utoipa::path(tag = "conversations",
    params(("conversation_id" = ConversationId, Path, description = "The conversation"), ListMessages),
    responses(
        (status = 200, description = "The conversation, with a page of its messages", body = ConversationWithMessages),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[get("/conversations/{conversation_id}")]
pub(crate) async fn get_conversation(
    caller: Caller,
    conversation: Path<ConversationId>,
    query: Query<ListMessages>,
    pool: Data<Pool>,
) -> Result<Json<ConversationWithMessages>, ApiError> {
    let ListMessages { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let after = match cursor::text(cursor.as_deref())? {
        Some(text) => position(&text).ok_or_else(cursor::invalid)?,
        None => (0, 0),
    };
    let conversation = db::conversation::get(&**pool, caller.tenant, *conversation)
        .await?
        .ok_or(ApiError::NotFound("conversation"))?;
    let found = db::conversation::list_messages(&**pool, conversation.id, after, limit + 1).await?;
    let page = Page::of(found, limit, |((place, seq), _)| format!("{place}.{seq}"));
    let messages = Page {
        // Messages that this release cannot read are omitted. The following pages are not affected.
        data: page
            .data
            .into_iter()
            .filter_map(|(_, message)| message)
            .collect(),
        next_cursor: page.next_cursor,
    };
    Ok(Json(ConversationWithMessages {
        conversation,
        messages,
    }))
}

fn position(cursor: &str) -> Option<Position> {
    let (place, seq) = cursor.split_once('.')?;
    Some((place.parse().ok()?, seq.parse().ok()?))
}
