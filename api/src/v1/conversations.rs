//! `/v1/conversations`

mod messages;

use actix_web::http::header::LOCATION;
use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, delete, get, post};
use serde::Deserialize;
use serde_json::{Map, Value};
use shared::agent::DEFAULT;
use shared::asset::AssetStore;
use shared::conversation::Conversation;
use shared::db::conversation::ConversationDeletion;
use shared::db::{self, Pool};
use shared::id::ConversationId;
use shared::skill::is_name;
use utoipa::{IntoParams, ToSchema};

use crate::auth::Caller;
use crate::body::Json;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, ErrorCode, FieldError, Problem};
use crate::query::Query;
use crate::v1::jobs::{check_external_id, check_metadata};

pub(crate) use messages::get_conversation;

type ConversationPage = Page<Conversation>;

/// The request to create a conversation.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateConversation {
    /// The agent of all jobs of the conversation; `default` if not given.
    agent: Option<String>,
    /// The client's own reference, such as the id of a chat, at most 255 characters, unique within the tenant. If a
    /// conversation with this reference exists, the response is that conversation, and the rest of this request has
    /// no effect.
    #[schema(min_length = 1, max_length = 255)]
    external_id: Option<String>,
    /// Data that the client attaches. It is returned with the conversation.
    #[serde(default)]
    metadata: Map<String, Value>,
}

/// Creates a conversation.
///
/// The jobs of a conversation continue one history and one workspace. They run one after the other.
#[utoipa::path(tag = "conversations", request_body(content = CreateConversation, example = json!({"agent": "default", "metadata": {"customer": "42"}})), responses(
    (status = 201, description = "The conversation", body = Conversation,
        headers(("Location" = String, description = "The conversation's path"))),
    (status = 200, description = "The existing conversation with this `external_id`", body = Conversation,
        headers(("Location" = String, description = "The conversation's path"))),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[post("/conversations")]
pub(crate) async fn create_conversation(
    caller: Caller,
    body: Json<CreateConversation>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    let Json(CreateConversation {
        agent,
        external_id,
        metadata,
    }) = body;
    let agent = agent.unwrap_or_else(|| DEFAULT.to_owned());
    let mut errors = Vec::from_iter(check_metadata(&metadata));
    errors.extend(check_external_id(external_id.as_deref()));
    let is_there = is_name(&agent)
        && db::agent::get(&**pool, caller.tenant, &agent, None)
            .await?
            .is_some();
    if !is_there {
        errors.push(FieldError::new(
            "/agent",
            format!("there is no agent `{agent}`; GET /v1/agents lists all agents"),
        ));
    }
    if !errors.is_empty() {
        return Err(ApiError::Invalid(errors));
    }
    let external_id = external_id.as_deref();
    let inserted =
        db::conversation::insert(&**pool, caller.tenant, &agent, external_id, metadata).await?;
    let (mut answer, conversation) = match (inserted, external_id) {
        (Some(new), _) => (HttpResponse::Created(), Some(new)),
        (None, Some(external_id)) => {
            let there =
                db::conversation::get_by_external_id(&**pool, caller.tenant, external_id).await?;
            (HttpResponse::Ok(), there)
        }
        (None, None) => (HttpResponse::Ok(), None),
    };
    let conversation = conversation.ok_or_else(|| {
        ApiError::Unavailable(anyhow::anyhow!(
            "the conversation was deleted during the request"
        ))
    })?;
    Ok(answer
        .insert_header((LOCATION, format!("/v1/conversations/{}", conversation.id)))
        .json(conversation))
}

/// Query parameters for a list of conversations.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListConversations {
    /// Only the conversation with this `external_id`.
    external_id: Option<String>,
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists conversations, the newest first, without their messages.
#[utoipa::path(tag = "conversations", params(ListConversations), responses(
    (status = 200, description = "A page of conversations", body = ConversationPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/conversations")]
pub(crate) async fn list_conversations(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListConversations>,
) -> Result<JsonResponse<ConversationPage>, ApiError> {
    let ListConversations {
        external_id,
        limit,
        cursor,
    } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let before = cursor::parse(cursor.as_deref())?;
    let found = db::conversation::list(
        &**pool,
        caller.tenant,
        external_id.as_deref(),
        before,
        limit + 1,
    )
    .await?;
    Ok(JsonResponse(Page::of(found, limit, |it| it.id.to_string())))
}

/// Deletes a conversation, and the files that were kept for its next job.
///
/// The jobs of the conversation are kept, as separate jobs.
#[utoipa::path(tag = "conversations",
    params(("conversation_id" = ConversationId, Path, description = "The conversation")),
    responses(
        (status = 204, description = "Deleted"),
        (status = 409, description = "A job of the conversation has not ended; cancel it first", body = Problem,
            content_type = "application/problem+json"),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[delete("/conversations/{conversation_id}")]
pub(crate) async fn delete_conversation(
    caller: Caller,
    conversation: Path<ConversationId>,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
) -> Result<HttpResponse, ApiError> {
    let mut transaction = pool.begin().await?;
    let deleted = db::conversation::delete(&mut transaction, caller.tenant, *conversation).await?;
    transaction.commit().await?;
    match deleted {
        ConversationDeletion::Absent => return Err(ApiError::NotFound("conversation")),
        ConversationDeletion::Busy => {
            return Err(ApiError::Conflict {
                code: ErrorCode::ConversationBusy,
                detail: "a job of this conversation has not ended; wait for it, or cancel it first"
                    .to_owned(),
            });
        }
        ConversationDeletion::Gone(None) => {}
        ConversationDeletion::Gone(Some(job)) => {
            if let Err(error) = assets.workspace_store(job).clear().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(
                    error,
                    "cannot delete a saved workspace; maintenance will retry"
                );
            }
        }
    }
    Ok(HttpResponse::NoContent().finish())
}
