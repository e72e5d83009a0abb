//! Positions of new jobs in their conversations.

use std::collections::HashMap;

use super::super::Connection;
use crate::conversation::ConversationPosition;
use crate::id::{ConversationId, TenantId};

/// A position that was given to a job that is about to be inserted.
#[derive(Clone, Copy, Debug)]
pub struct TakenPosition {
    /// The position.
    pub position: ConversationPosition,
    /// Whether it waits for an unfinished job before it. If that job ends before the commit, `db::run::admit_blocked`
    /// makes this job ready, or a second later `admit_stalled`.
    pub is_blocked: bool,
}

/// Assigns positions to jobs that are about to be inserted, in order, each in its conversation; `None` for a
/// conversation that does not exist. Other jobs that join these conversations wait until the caller commits.
pub async fn join(
    db: &mut Connection,
    tenant: TenantId,
    jobs: &[ConversationId],
) -> sqlx::Result<Vec<Option<TakenPosition>>> {
    let conversations: Vec<_> = jobs.iter().map(|id| id.0).collect();
    // Locked in the same order everywhere, so that there is no deadlock.
    let joined = sqlx::query!(
        r#"with joining as (
               select id, count(*)::int as jobs from unnest($2::uuid[]) as job (id) group by id
           ),
           held as materialized (
               select id, jobs from conversation join joining using (id)
               where tenant_id = $1
               order by id
               for update of conversation
           )
           update conversation set last_position = last_position + held.jobs
           from held
           where conversation.id = held.id
           returning conversation.id, last_position - held.jobs as "before!""#,
        tenant.0,
        &conversations,
    )
    .fetch_all(&mut *db)
    .await?;
    // Read after the locks: jobs that joined earlier are committed.
    let busy = sqlx::query_scalar!(
        r#"select distinct conversation_id as "id!" from run where conversation_id = any($1)"#,
        &conversations,
    )
    .fetch_all(db)
    .await?;
    let last = joined.into_iter().map(|row| {
        let is_busy = busy.contains(&row.id);
        (ConversationId(row.id), (row.before, is_busy))
    });
    let mut last: HashMap<_, _> = last.collect();
    let positions = jobs.iter().map(|conversation| {
        let (position, is_busy) = last.get_mut(conversation)?;
        *position += 1;
        let position = ConversationPosition {
            conversation: *conversation,
            position: *position,
        };
        let is_blocked = std::mem::replace(is_busy, true);
        Some(TakenPosition {
            position,
            is_blocked,
        })
    });
    Ok(positions.collect())
}
