//! The conversation history at the start of a job.

use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;

use crate::conversation::ConversationPosition;
use crate::event::ConversationCompacted;
use crate::id::{ConversationId, JobId};
use crate::job::Input;
use crate::stored::{UnreadableRow, read};

/// Returns the last summary that the job at a position or an earlier job made.
pub async fn get_summary(
    db: impl PgExecutor<'_>,
    position: ConversationPosition,
) -> sqlx::Result<Option<ConversationCompacted>> {
    let data = sqlx::query_scalar!(
        r#"select event.data as "data: Json<ConversationCompacted>"
           from job
           join job_event as event on event.job_id = job.id and event.type = 'conversation.compacted'
           where job.conversation_id = $1 and job.position <= $2
           order by job.position desc, event.seq desc
           limit 1"#,
        position.conversation.0,
        position.position,
    )
    .fetch_optional(db)
    .await?;
    Ok(data.map(|Json(data)| data))
}

/// Returns the position of `job` in a conversation or, if it was deleted, of the first newer job. Returns `None` if
/// there is no such job.
pub async fn get_first_place(
    db: impl PgExecutor<'_>,
    conversation: ConversationId,
    job: JobId,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!(
        "select coalesce(
             (select position from job where conversation_id = $1 and id = $2),
             (select min(position) from job where conversation_id = $1 and id > $2)
         )",
        conversation.0,
        job.0,
    )
    .fetch_one(db)
    .await
}

/// An earlier job of a conversation, with its request.
pub struct Earlier {
    /// The job.
    pub job: JobId,
    /// The position of the job.
    pub place: i32,
    /// The request, if this release can read it.
    pub asked: Result<EarlierRequest, UnreadableRow>,
}

/// The part of a request that later jobs of the conversation receive.
#[derive(Deserialize)]
pub struct EarlierRequest {
    /// The prompt.
    pub prompt: String,
    /// The input files.
    pub inputs: Vec<Input>,
}

/// Returns the last job before a position and not before `first`. Returns one job per call, because a request may be
/// large.
pub async fn get_before(
    db: impl PgExecutor<'_>,
    position: ConversationPosition,
    first: i32,
) -> sqlx::Result<Option<Earlier>> {
    let row = sqlx::query!(
        r#"select id, position as "position!", request as "request: Json<Box<RawValue>>"
           from job
           where conversation_id = $1 and position < $2 and position >= $3
           order by position desc
           limit 1"#,
        position.conversation.0,
        position.position,
        first,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Earlier {
        job: JobId(row.id),
        place: row.position,
        asked: read("an earlier job's request", &row.request),
    }))
}
