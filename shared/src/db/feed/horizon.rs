//! The horizon of the feed: the oldest transaction that can still write.

use sqlx::PgExecutor;

/// Returns the horizon. All milestones of earlier transactions can be read.
pub async fn horizon(db: impl PgExecutor<'_>) -> sqlx::Result<i64> {
    sqlx::query_scalar!(r#"select feed_horizon() as "horizon!""#)
        .fetch_one(db)
        .await
}

/// The transaction that blocks the feed.
#[derive(Clone, Debug, PartialEq)]
pub struct HorizonHolder {
    /// The age of the transaction in seconds.
    pub seconds: f64,
    /// The database of the transaction.
    pub database: String,
    /// The application name from `pg_stat_activity`, or the name of a prepared transaction.
    pub application: String,
    /// The process id of the session, or 0 for a prepared transaction.
    pub pid: i32,
}

/// Returns the oldest open transaction of the cluster that has written data or is prepared (two-phase commit). A user
/// without the role `pg_read_all_stats` sees only its own transactions.
pub async fn get_horizon_lag(db: impl PgExecutor<'_>) -> sqlx::Result<Option<HorizonHolder>> {
    sqlx::query_as!(
        HorizonHolder,
        r#"with writing as (
               select backend_xid as xid, xact_start as began_at, datname as database, application_name as application, pid
               from pg_stat_activity
               where backend_xid is not null and xact_start is not null
               union all
               select transaction, prepared, database, 'prepared transaction ' || gid, 0
               from pg_prepared_xacts
           )
           select
               extract(epoch from clock_timestamp() - began_at)::double precision as "seconds!",
               coalesce(database, '') as "database!",
               coalesce(application, '') as "application!",
               pid as "pid!"
           from writing
           order by age(xid) desc
           limit 1"#,
    )
    .fetch_optional(db)
    .await
}
