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
    /// Its application, as `pg_stat_activity` has it, or the name of a prepared transaction.
    pub application: String,
    /// Its process; 0 for a prepared transaction, which has none.
    pub pid: i32,
}

/// The oldest open transaction of the cluster that has written something, or that is prepared (two-phase commit).
/// A user who may not see the sessions of others (`pg_read_all_stats`) only sees its own.
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
