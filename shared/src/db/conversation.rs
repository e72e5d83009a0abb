//! Conversations, their jobs in order, and their messages.

mod earlier;
mod message;
mod turn;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use super::Connection;
use crate::conversation::{Conversation, ConversationPosition};
use crate::id::{ConversationId, JobId, TenantId};
use crate::stored::read_or_else;

pub use earlier::{Earlier, get_before, get_first_place, get_summary};
pub use message::{Position, list_messages};
pub use turn::{TakenPosition, admit_blocked, admit_stalled, join};

/// Inserts a conversation. Returns `None` if another conversation of the tenant has the same `external_id`.
pub async fn insert(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    agent: &str,
    external_id: Option<&str>,
    metadata: Map<String, Value>,
) -> sqlx::Result<Option<Conversation>> {
    let id = ConversationId::new();
    // Passed as text, because `jsonb` would change the order of the keys.
    let stored = serde_json::to_string(&metadata).expect("it came as JSON");
    let created_at = sqlx::query_scalar!(
        "insert into conversation (id, tenant_id, agent, metadata, external_id)
         values ($1, $2, $3, $4::text::json, $5)
         on conflict (tenant_id, external_id) where external_id is not null do nothing
         returning created_at",
        id.0,
        tenant.0,
        agent,
        stored,
        external_id,
    )
    .fetch_optional(db)
    .await?;
    Ok(created_at.map(|created_at| Conversation {
        id,
        external_id: external_id.map(str::to_owned),
        agent: agent.to_owned(),
        title: None,
        metadata,
        created_at,
    }))
}

/// Returns the tenant's conversation with this `external_id`.
pub async fn get_by_external_id(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    external_id: &str,
) -> sqlx::Result<Option<Conversation>> {
    let row = sqlx::query_as!(
        ConversationRow,
        r#"select id, external_id, agent, metadata as "metadata: Json<Box<RawValue>>", created_at,
                  (select coalesce(nullif(title, ''), prompt_preview)
                   from job
                   where job.conversation_id = conversation.id
                   order by position
                   limit 1) as title
           from conversation
           where tenant_id = $1 and external_id = $2"#,
        tenant.0,
        external_id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(Conversation::from))
}

/// Returns one of the tenant's conversations.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: ConversationId,
) -> sqlx::Result<Option<Conversation>> {
    Ok(list_by_id(db, tenant, &[id]).await?.pop())
}

/// Lists the tenant's conversations among `ids`, in no particular order.
pub async fn list_by_id(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[ConversationId],
) -> sqlx::Result<Vec<Conversation>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query_as!(
        ConversationRow,
        r#"select id, external_id, agent, metadata as "metadata: Json<Box<RawValue>>", created_at,
                  (select coalesce(nullif(title, ''), prompt_preview)
                   from job
                   where job.conversation_id = conversation.id
                   order by position
                   limit 1) as title
           from conversation
           where tenant_id = $1 and id = any($2)"#,
        tenant.0,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Conversation::from).collect())
}

/// Lists the tenant's conversations before `before`, newest first. With `external_id`, lists only the one that has it.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    external_id: Option<&str>,
    before: Option<ConversationId>,
    limit: i64,
) -> sqlx::Result<Vec<Conversation>> {
    let rows = sqlx::query_as!(
        ConversationRow,
        r#"select id, external_id, agent, metadata as "metadata: Json<Box<RawValue>>", created_at,
                  (select coalesce(nullif(title, ''), prompt_preview)
                   from job
                   where job.conversation_id = conversation.id
                   order by position
                   limit 1) as title
           from conversation
           where tenant_id = $1
             and ($2::uuid is null or id < $2)
             and ($4::text is null or external_id = $4)
           order by id desc
           limit $3"#,
        tenant.0,
        before.map(|id| id.0),
        limit,
        external_id,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Conversation::from).collect())
}

/// The outcome of deleting a conversation.
pub enum ConversationDeletion {
    /// The conversation was deleted. A workspace that was kept for its next job is stored with this job.
    Gone(Option<JobId>),
    /// A job of the conversation has not ended.
    Busy,
    /// The conversation does not exist.
    Absent,
}

/// Deletes a conversation unless one of its jobs has not ended. Its jobs are kept without a conversation.
pub async fn delete(
    db: &mut Connection,
    tenant: TenantId,
    id: ConversationId,
) -> sqlx::Result<ConversationDeletion> {
    // While this row is locked, no job can join.
    let locked = sqlx::query!(
        "select last_position from conversation where tenant_id = $1 and id = $2 for update",
        tenant.0,
        id.0,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(locked) = locked else {
        return Ok(ConversationDeletion::Absent);
    };
    let is_busy = sqlx::query_scalar!(
        r#"select exists (select from run where conversation_id = $1) as "exists!""#,
        id.0,
    )
    .fetch_one(&mut *db)
    .await?;
    if is_busy {
        return Ok(ConversationDeletion::Busy);
    }
    let end = ConversationPosition {
        conversation: id,
        position: locked.last_position + 1,
    };
    let workspace = get_workspace(&mut *db, end).await?;
    sqlx::query!(
        "with left_alone as (
             update job set conversation_id = null, position = null where conversation_id = $1
         )
         delete from conversation where id = $1",
        id.0,
    )
    .execute(db)
    .await?;
    Ok(ConversationDeletion::Gone(workspace.map(|saved| saved.job)))
}

/// Deletes up to `limit` conversations after `after` that were created before `cutoff` and have no jobs. Returns the
/// last conversation that was examined.
pub async fn delete_empty(
    db: &mut Connection,
    cutoff: DateTime<Utc>,
    after: ConversationId,
    limit: i64,
) -> sqlx::Result<Option<ConversationId>> {
    let empty = sqlx::query_scalar!(
        "select id from conversation
         where id > $1 and created_at < $2
           and not exists (select from job where job.conversation_id = conversation.id)
         order by id
         limit $3
         for update skip locked",
        after.0,
        cutoff,
        limit,
    )
    .fetch_all(&mut *db)
    .await?;
    // No job can join while these rows are locked, but one may have joined just before.
    sqlx::query!(
        "delete from conversation
         where id = any($1) and not exists (select from job where job.conversation_id = conversation.id)",
        &empty,
    )
    .execute(db)
    .await?;
    Ok(empty.last().copied().map(ConversationId))
}

/// A saved workspace of a job.
pub struct SavedWorkspace {
    /// The job whose workspace store has the files.
    pub job: JobId,
    /// The SHA-256 of the manifest.
    pub manifest: String,
}

/// Returns the last workspace that a job before a position saved.
pub async fn get_workspace(
    db: impl PgExecutor<'_>,
    position: ConversationPosition,
) -> sqlx::Result<Option<SavedWorkspace>> {
    sqlx::query_as!(
        SavedWorkspace,
        r#"select job.id as "job: JobId", event.data->>'manifest' as "manifest!"
           from job
           join job_event as event on event.job_id = job.id and event.type = 'workspace.saved'
           where job.conversation_id = $1 and job.position < $2
           order by job.position desc, event.seq desc
           limit 1"#,
        position.conversation.0,
        position.position,
    )
    .fetch_optional(db)
    .await
}

struct ConversationRow {
    id: Uuid,
    external_id: Option<String>,
    agent: String,
    title: Option<String>,
    metadata: Json<Box<RawValue>>,
    created_at: DateTime<Utc>,
}

impl From<ConversationRow> for Conversation {
    fn from(row: ConversationRow) -> Self {
        Self {
            id: ConversationId(row.id),
            external_id: row.external_id,
            agent: row.agent,
            title: row.title,
            metadata: read_or_else("a conversation's metadata", row.id, &row.metadata, Map::new),
            created_at: row.created_at,
        }
    }
}
