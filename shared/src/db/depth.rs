//! How full the queue is, at a price that does not grow with it.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

/// How full the queue of all tenants is. No count is above 10,000, which stands for more.
pub struct Depth {
    /// Jobs that a free slot could take.
    pub ready: i64,
    /// Jobs that may not start yet.
    pub scheduled: i64,
    /// Jobs behind another of their conversation.
    pub blocked: i64,
    /// Jobs with a worker.
    pub running: i64,
    /// Jobs that wait for a person.
    pub waiting: i64,
    /// When the ready job that waits longest became due, of the 10,000 jobs that were made first.
    pub oldest: Option<DateTime<Utc>>,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// Counts, each state by its own index and only so far. The limits are literals: with parameters the planner expects
/// to need all of an index, and reads all of it first.
pub async fn get(db: impl PgExecutor<'_>) -> sqlx::Result<Depth> {
    sqlx::query_as!(
        Depth,
        r#"select
               (select count(*) from (select from run where state = 'ready' limit 10000) as one) as "ready!",
               (select count(*) from (select from run where state = 'scheduled' limit 10000) as one) as "scheduled!",
               (select count(*) from (
                   select from run where conversation_id is not null and state = 'blocked' limit 10000
               ) as one) as "blocked!",
               (select count(*) from (select from run where state = 'running' limit 10000) as one) as "running!",
               (select count(*) from (select from run where state = 'waiting' limit 10000) as one) as "waiting!",
               (select min(run_at) from (
                   select run_at, state from run order by job_id limit 10000
               ) as early where state = 'ready') as oldest,
               now() as "now!""#,
    )
    .fetch_one(db)
    .await
}
