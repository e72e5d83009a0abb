//! Taking places in conversations.

use std::collections::HashMap;

use super::super::Connection;
use crate::conversation::Seat;
use crate::id::{ConversationId, TenantId};

/// A place that was given to a job that is about to be inserted.
#[derive(Clone, Copy, Debug)]
pub struct TakenSeat {
    /// Where.
    pub seat: Seat,
    /// Whether a job before it has not ended, so that it has to wait. If that ends before this is committed, nobody makes
    /// it ready: then `db::run::admit_blocked` does, or a second later `admit_stalled`.
    pub is_blocked: bool,
}

/// Gives jobs that are about to be inserted their places, each in the conversation that is named for it, in the order
/// in which they come; `None` where there is no such conversation. Others who want to join wait until the caller commits.
pub async fn join(
    db: &mut Connection,
    tenant: TenantId,
    jobs: &[ConversationId],
) -> sqlx::Result<Vec<Option<TakenSeat>>> {
    let conversations: Vec<_> = jobs.iter().map(|id| id.0).collect();
    // Locked in one order by all, so that nobody waits in a circle.
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
           update conversation set last_place = last_place + held.jobs
           from held
           where conversation.id = held.id
           returning conversation.id, last_place - held.jobs as "before!""#,
        tenant.0,
        &conversations,
    )
    .fetch_all(&mut *db)
    .await?;
    // Asked when they are held: who was before us has committed.
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
    let seats = jobs.iter().map(|conversation| {
        let (place, is_busy) = last.get_mut(conversation)?;
        *place += 1;
        let seat = Seat {
            conversation: *conversation,
            place: *place,
        };
        let is_blocked = std::mem::replace(is_busy, true);
        Some(TakenSeat { seat, is_blocked })
    });
    Ok(seats.collect())
}
