//! The messages of conversations.

use chrono::{DateTime, Utc};
use futures_util::TryStreamExt;
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;
use uuid::Uuid;

use crate::conversation::{Message, MessageContent};
use crate::event::{ConversationCompacted, EventKind, ToolCompleted};
use crate::id::{ConversationId, JobId};
use crate::message::AssistantMessage;

/// The position of a message in a conversation: the position of its job and its sequence number in the log.
pub type Position = (i32, i64);

/// Lists the messages after a position, in order, with their positions. A message that this release cannot read is
/// `None`.
pub async fn list_messages(
    db: impl PgExecutor<'_>,
    id: ConversationId,
    (position, seq): Position,
    limit: i64,
) -> sqlx::Result<Vec<(Position, Option<Message>)>> {
    let rows = sqlx::query_as!(
        MessageRow,
        r#"select position as "position!", seq as "seq!", job_id as "job_id!", type as "kind!", at as "at!",
               data as "data!: Json<Box<RawValue>>"
           from (
               select position, 0 as seq, id as job_id, 'prompt' as type, created_at as at, request as data
               from job
               where conversation_id = $1
               union all
               select job.position, event.seq, job.id, event.type, event.at, event.data
               from job
               join job_event as event on event.job_id = job.id
               where job.conversation_id = $1
                 and job.position >= $2
                 and event.type in ('message.completed', 'tool.completed', 'conversation.compacted')
           ) as said
           where (position, seq) > ($2, $3)
           order by position, seq
           limit $4"#,
        id.0,
        position,
        seq,
        limit,
    )
    .fetch(db);
    // Rows are read one at a time: a request may be large, and only its prompt is kept.
    rows.map_ok(MessageRow::read).try_collect().await
}

/// The part of a request that is a message.
#[derive(Deserialize)]
struct AskedMessage {
    prompt: String,
}

struct MessageRow {
    position: i32,
    seq: i64,
    job_id: Uuid,
    kind: String,
    at: DateTime<Utc>,
    data: Json<Box<RawValue>>,
}

impl MessageRow {
    fn read(self) -> (Position, Option<Message>) {
        let said = self.said();
        if let Err(error) = &said {
            let (job, error) = (self.job_id, error as &dyn std::error::Error);
            tracing::warn!(%job, seq = self.seq, error, "skipping an unreadable message of a conversation");
        }
        let message = said.ok().map(|said| Message {
            job_id: JobId(self.job_id),
            seq: self.seq,
            at: self.at,
            said,
        });
        ((self.position, self.seq), message)
    }

    fn said(&self) -> serde_json::Result<MessageContent> {
        let data = self.data.0.get();
        Ok(match EventKind::parse(&self.kind) {
            Some(EventKind::MessageCompleted) => {
                let reply: AssistantMessage = serde_json::from_str(data)?;
                MessageContent::Assistant {
                    content: reply.content,
                }
            }
            Some(EventKind::ToolCompleted) => {
                let ToolCompleted {
                    call_id,
                    outcome,
                    output,
                    ..
                } = serde_json::from_str(data)?;
                MessageContent::Tool {
                    call_id,
                    outcome,
                    output,
                }
            }
            Some(EventKind::ConversationCompacted) => {
                let compacted: ConversationCompacted = serde_json::from_str(data)?;
                MessageContent::Summary {
                    text: compacted.summary,
                }
            }
            _ => {
                let asked: AskedMessage = serde_json::from_str(data)?;
                MessageContent::User { text: asked.prompt }
            }
        })
    }
}
