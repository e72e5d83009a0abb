//! Conversations: which jobs belong to one, in which order, and what was said in them.

mod join;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use super::Connection;
use crate::conversation::{Conversation, Message, Said, Seat};
use crate::event::{ConversationCompacted, ToolCompleted};
use crate::id::{ConversationId, JobId, TenantId};
use crate::job::JobRequest;
use crate::message::AssistantMessage;

pub use join::{TakenSeat, join};

/// Begins a conversation.
pub async fn insert(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    agent: &str,
    metadata: Map<String, Value>,
) -> sqlx::Result<Conversation> {
    let id = ConversationId::new();
    // As text: on its way through `jsonb` it would lose its order.
    let stored = serde_json::to_string(&metadata).expect("it came as JSON");
    let created_at = sqlx::query_scalar!(
        "insert into conversation (id, tenant_id, agent, metadata)
         values ($1, $2, $3, $4::text::json)
         returning created_at",
        id.0,
        tenant.0,
        agent,
        stored,
    )
    .fetch_one(db)
    .await?;
    Ok(Conversation {
        id,
        agent: agent.to_owned(),
        metadata,
        created_at,
    })
}

/// One of the tenant's conversations.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    id: ConversationId,
) -> sqlx::Result<Option<Conversation>> {
    Ok(list_by_id(db, tenant, &[id]).await?.pop())
}

/// The tenant's conversations among `ids`, in no order.
pub async fn list_by_id(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    ids: &[ConversationId],
) -> sqlx::Result<Vec<Conversation>> {
    let ids: Vec<_> = ids.iter().map(|id| id.0).collect();
    let rows = sqlx::query_as!(
        Row,
        r#"select id, agent, metadata as "metadata: Json<Map<String, Value>>", created_at
           from conversation
           where tenant_id = $1 and id = any($2)"#,
        tenant.0,
        &ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Conversation::from).collect())
}

/// The tenant's conversations before `before`, the newest first.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    before: Option<ConversationId>,
    limit: i64,
) -> sqlx::Result<Vec<Conversation>> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id, agent, metadata as "metadata: Json<Map<String, Value>>", created_at
           from conversation
           where tenant_id = $1 and ($2::uuid is null or id < $2)
           order by id desc
           limit $3"#,
        tenant.0,
        before.map(|id| id.0),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(Conversation::from).collect())
}

/// What became of a conversation that was to be deleted.
pub enum Deleted {
    /// It is gone. If files were kept for its next job, they are this job's.
    Gone(Option<JobId>),
    /// A job of it has not ended.
    Busy,
    /// There is none.
    Absent,
}

/// Removes a conversation unless a job of it has not ended. Its jobs stay, and belong to none.
pub async fn delete(
    db: &mut Connection,
    tenant: TenantId,
    id: ConversationId,
) -> sqlx::Result<Deleted> {
    // Nobody joins from here on.
    let locked = sqlx::query!(
        "select last_place from conversation where tenant_id = $1 and id = $2 for update",
        tenant.0,
        id.0,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(locked) = locked else {
        return Ok(Deleted::Absent);
    };
    let is_busy = sqlx::query_scalar!(
        r#"select exists (select from run where conversation_id = $1) as "exists!""#,
        id.0,
    )
    .fetch_one(&mut *db)
    .await?;
    if is_busy {
        return Ok(Deleted::Busy);
    }
    let end = Seat {
        conversation: id,
        place: locked.last_place + 1,
    };
    let workspace = get_workspace(&mut *db, end).await?;
    sqlx::query!(
        "with left_alone as (
             update job set conversation_id = null, place = null where conversation_id = $1
         )
         delete from conversation where id = $1",
        id.0,
    )
    .execute(db)
    .await?;
    Ok(Deleted::Gone(workspace.map(|saved| saved.job)))
}

/// Removes up to `limit` conversations from before `cutoff` after `after` that have no jobs any more, and returns the last
/// that was looked at.
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
    // Nobody joins from here on, but someone may have just before.
    sqlx::query!(
        "delete from conversation
         where id = any($1) and not exists (select from job where job.conversation_id = conversation.id)",
        &empty,
    )
    .execute(db)
    .await?;
    Ok(empty.last().copied().map(ConversationId))
}

/// A job of a conversation, with what it was asked.
pub struct Asked {
    /// The job.
    pub job: JobId,
    /// What was asked for.
    pub request: JobRequest,
}

/// The jobs before a place, in order.
pub async fn list_before(db: impl PgExecutor<'_>, seat: Seat) -> sqlx::Result<Vec<Asked>> {
    sqlx::query!(
        r#"select id, request as "request: Json<JobRequest>"
           from job
           where conversation_id = $1 and place < $2
           order by place"#,
        seat.conversation.0,
        seat.place,
    )
    .map(|row| Asked {
        job: JobId(row.id),
        request: row.request.0,
    })
    .fetch_all(db)
    .await
}

/// The last summary that the job at a place, or one before it, made.
pub async fn get_summary(
    db: impl PgExecutor<'_>,
    seat: Seat,
) -> sqlx::Result<Option<ConversationCompacted>> {
    let data = sqlx::query_scalar!(
        r#"select event.data as "data: Json<ConversationCompacted>"
           from job
           join job_event as event on event.job_id = job.id and event.type = 'conversation.compacted'
           where job.conversation_id = $1 and job.place <= $2
           order by job.place desc, event.seq desc
           limit 1"#,
        seat.conversation.0,
        seat.place,
    )
    .fetch_optional(db)
    .await?;
    Ok(data.map(|Json(data)| data))
}

/// A workspace that a job left.
pub struct SavedWorkspace {
    /// The job, whose scratch has the files.
    pub job: JobId,
    /// SHA-256 of the manifest.
    pub manifest: String,
}

/// The workspace as the jobs before a place left it.
pub async fn get_workspace(
    db: impl PgExecutor<'_>,
    seat: Seat,
) -> sqlx::Result<Option<SavedWorkspace>> {
    sqlx::query_as!(
        SavedWorkspace,
        r#"select job.id as "job: JobId", event.data->>'manifest' as "manifest!"
           from job
           join job_event as event on event.job_id = job.id and event.type = 'workspace.saved'
           where job.conversation_id = $1 and job.place < $2
           order by job.place desc, event.seq desc
           limit 1"#,
        seat.conversation.0,
        seat.place,
    )
    .fetch_optional(db)
    .await
}

/// Where in a conversation something was said: the job's place, and the number in its log.
pub type Position = (i32, i64);

/// What was said after a position, in order, each with its own.
pub async fn list_messages(
    db: impl PgExecutor<'_>,
    id: ConversationId,
    (place, seq): Position,
    limit: i64,
) -> sqlx::Result<Vec<(Position, Message)>> {
    let rows = sqlx::query_as!(
        MessageRow,
        r#"select place as "place!", seq as "seq!", job_id as "job_id!", type as "kind!", at as "at!",
               data as "data!: Json<Box<RawValue>>"
           from (
               select place, 0 as seq, id as job_id, 'prompt' as type, created_at as at, request->'prompt' as data
               from job
               where conversation_id = $1
               union all
               select job.place, event.seq, job.id, event.type, event.at, event.data
               from job
               join job_event as event on event.job_id = job.id
               where job.conversation_id = $1
                 and job.place >= $2
                 and event.type in ('message.completed', 'tool.completed', 'conversation.compacted')
           ) as said
           where (place, seq) > ($2, $3)
           order by place, seq
           limit $4"#,
        id.0,
        place,
        seq,
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(MessageRow::parse).collect()
}

struct Row {
    id: Uuid,
    agent: String,
    metadata: Json<Map<String, Value>>,
    created_at: DateTime<Utc>,
}

impl From<Row> for Conversation {
    fn from(row: Row) -> Self {
        Self {
            id: ConversationId(row.id),
            agent: row.agent,
            metadata: row.metadata.0,
            created_at: row.created_at,
        }
    }
}

struct MessageRow {
    place: i32,
    seq: i64,
    job_id: Uuid,
    kind: String,
    at: DateTime<Utc>,
    data: Json<Box<RawValue>>,
}

impl MessageRow {
    fn parse(self) -> sqlx::Result<(Position, Message)> {
        let said = self
            .said()
            .map_err(|error| sqlx::Error::Decode(error.into()))?;
        let message = Message {
            job_id: JobId(self.job_id),
            seq: self.seq,
            at: self.at,
            said,
        };
        Ok(((self.place, self.seq), message))
    }

    fn said(&self) -> serde_json::Result<Said> {
        let data = self.data.0.get();
        Ok(match self.kind.as_str() {
            "message.completed" => {
                let reply: AssistantMessage = serde_json::from_str(data)?;
                Said::Assistant {
                    content: reply.content,
                }
            }
            "tool.completed" => {
                let ToolCompleted {
                    call_id,
                    outcome,
                    output,
                    ..
                } = serde_json::from_str(data)?;
                Said::Tool {
                    call_id,
                    outcome,
                    output,
                }
            }
            "conversation.compacted" => {
                let compacted: ConversationCompacted = serde_json::from_str(data)?;
                Said::Summary {
                    text: compacted.summary,
                }
            }
            _ => Said::User {
                text: serde_json::from_str(data)?,
            },
        })
    }
}
