//! How full the queue is, at a price that does not grow with it.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

/// Jobs of one state that are counted; more of them count as so many.
pub const MOST: i64 = 100_000;

/// How full the queue of all tenants is. No count is above [`MOST`].
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
    /// When those became due that are next.
    pub oldest: Option<DateTime<Utc>>,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// Counts, each state by its own index and only so far.
pub async fn get(db: impl PgExecutor<'_>) -> sqlx::Result<Depth> {
    sqlx::query_as!(
        Depth,
        r#"select
               (select count(*) from (select from run where state = 'ready' limit $1) as one) as "ready!",
               (select count(*) from (select from run where state = 'scheduled' limit $1) as one) as "scheduled!",
               (select count(*) from (
                   select from run where conversation_id is not null and state = 'blocked' limit $1
               ) as one) as "blocked!",
               (select count(*) from (select from run where state = 'running' limit $1) as one) as "running!",
               (select count(*) from (select from run where state = 'waiting' limit $1) as one) as "waiting!",
               -- Where priorities differ, the oldest is not the first.
               (select min(run_at) from (
                   select run_at from run where state = 'ready' order by rank limit 1000
               ) as next) as oldest,
               now() as "now!""#,
        MOST,
    )
    .fetch_one(db)
    .await
}
