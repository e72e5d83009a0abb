//! The order of jobs in a conversation: one job is unfinished at a time, and later jobs are blocked.

use std::collections::HashMap;
use std::time::Duration;

use sqlx::PgExecutor;

use super::super::{Connection, Pool};
use crate::conversation::ConversationPosition;
use crate::id::{ConversationId, TenantId};

/// The position assigned to a job that is about to be inserted.
#[derive(Clone, Copy, Debug)]
pub struct TakenPosition {
    /// The position.
    pub position: ConversationPosition,
    /// Whether the job waits for an unfinished job before it. If that job ends before the commit, `admit_blocked`
    /// makes this job ready, or `admit_stalled` does so a second later.
    pub is_blocked: bool,
}

/// Assigns positions to jobs that are about to be inserted, in order, each in its conversation. Returns `None` for a
/// conversation that does not exist. Other jobs that join these conversations wait until the caller commits.
pub async fn join(
    db: &mut Connection,
    tenant: TenantId,
    jobs: &[ConversationId],
) -> sqlx::Result<Vec<Option<TakenPosition>>> {
    let conversations: Vec<_> = jobs.iter().map(|id| id.0).collect();
    // Rows are locked in the same order everywhere, to avoid deadlocks.
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
    // Read after the rows are locked, so that jobs that joined earlier are committed.
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

/// Lists up to 1,000 conversations with a blocked job and no unfinished job before it. This happens when a job joins
/// just as the job before it ends, and the API is killed before it admits the job.
///
/// With `accepted_within`, reads only the newest 1,000 of the jobs accepted within that time. The cost then does not
/// grow with the number of waiting jobs.
async fn list_stalled(
    db: impl PgExecutor<'_>,
    accepted_within: Option<Duration>,
) -> sqlx::Result<Vec<ConversationId>> {
    sqlx::query_scalar!(
        r#"select distinct conversation_id as "id!: ConversationId"
           from (
               select conversation_id
               from run
               where state = 'blocked'
                 and job_id >= first_job_id(coalesce(now() - $1 * interval '1 second', 'epoch'))
               order by job_id desc
               limit case when $1 is not null then 1000 end
           ) as blocked
           where not exists (
               select from run as before
               where before.conversation_id = blocked.conversation_id
                 and before.state in ('scheduled', 'ready', 'running', 'waiting')
           )
           limit 1000"#,
        accepted_within.map(|age| age.as_secs_f64()),
    )
    .fetch_all(db)
    .await
}

/// Makes blocked jobs ready that have no unfinished job before them in their conversation. With `accepted_within`,
/// reads only the newest 1,000 of the jobs accepted within that time. Returns the number of jobs, up to a limit:
/// repeat it until it returns 0.
pub async fn admit_stalled(db: &Pool, accepted_within: Option<Duration>) -> sqlx::Result<u64> {
    let stalled = list_stalled(db, accepted_within).await?;
    if stalled.is_empty() {
        return Ok(0);
    }
    admit_blocked(db, &stalled).await
}

/// Makes the next job of each conversation ready if it is blocked although no job before it is unfinished. Returns the
/// number of jobs.
pub async fn admit_blocked(
    db: impl PgExecutor<'_>,
    conversations: &[ConversationId],
) -> sqlx::Result<u64> {
    let conversations: Vec<_> = conversations.iter().map(|id| id.0).collect();
    let admitted = sqlx::query_scalar!(
        r#"
        with admitted as (
            update run set state = case when run_at <= now() then 'ready'::run_state else 'scheduled' end
            where job_id in (
                select run.job_id
                from (select distinct unnest($1::uuid[]) as id) as conversation
                cross join lateral (
                    select job_id from run
                    where conversation_id = conversation.id
                    order by position
                    limit 1
                ) as head
                join run on run.job_id = head.job_id
                where run.state = 'blocked'
                for update of run skip locked
            )
            returning tenant_id, state
        ),
        opened as (
            select mark_lanes_ready(array_agg(distinct tenant_id) filter (where state = 'ready'), null) from admitted
        )
        select (select count(*) from admitted) as "count!" from opened
        "#,
        &conversations,
    )
    .fetch_one(db)
    .await?;
    Ok(admitted.unsigned_abs())
}
