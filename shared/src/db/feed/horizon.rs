//! The horizon of the feed: the oldest transaction that can still write.

use sqlx::PgExecutor;

/// All milestones of transactions before this one are there to be read.
pub async fn horizon(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar!(r#"select feed_horizon() as "horizon!""#)
        .fetch_one(db)
        .await
}

/// The transaction that keeps the feed from going on.
#[derive(Clone, Debug, PartialEq)]
pub struct HorizonHolder {
    /// For how long it has been open, in seconds.
    pub seconds: f64,
    /// Its database.
    pub database: String,
    /// Its application, as `pg_stat_activity` has it.
    pub application: String,
    /// Its process.
    pub pid: i32,
}

/// The oldest open transaction of the cluster that has written something. A user who may not see the sessions of others
/// (`pg_read_all_stats`) only sees its own.
pub async fn get_horizon_lag(db: impl PgExecutor<'_>) -> sqlx::Result<Option<HorizonHolder>> {
    sqlx::query_as!(
        HorizonHolder,
        r#"select
               extract(epoch from clock_timestamp() - xact_start)::double precision as "seconds!",
               coalesce(datname, '') as "database!",
               coalesce(application_name, '') as "application!",
               pid as "pid!"
           from pg_stat_activity
           where backend_xid is not null and xact_start is not null
           order by age(backend_xid) desc
           limit 1"#,
    )
    .fetch_optional(db)
    .await
}
