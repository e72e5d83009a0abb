//! The validity of cursors: the epoch of the feed and the earliest position from which it is complete.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::super::Pool;
use crate::feed::{FeedCursor, FeedPosition};
use crate::id::TenantId;

/// The state of the feed for one tenant.
#[derive(Clone, Copy, Debug)]
pub struct FeedState {
    /// The epoch.
    pub epoch: i32,
    /// The transaction from which the feed is complete.
    pub first: i64,
    /// The transaction before which everything can be read.
    pub horizon: i64,
    /// The lowest transaction number that has not been assigned yet.
    pub next: i64,
    /// Whether the last use was recorded more than an hour ago.
    pub is_stale: bool,
}

impl FeedState {
    /// Whether the feed is complete after a cursor.
    pub fn is_valid(&self, cursor: FeedCursor) -> bool {
        let txid = cursor.position.txid;
        cursor.epoch == self.epoch && (self.first..=self.next).contains(&txid)
    }

    /// Returns the current position. Everything that was committed before it is visible to other queries.
    pub fn now(&self) -> FeedPosition {
        FeedPosition::before(self.horizon)
    }
}

/// Returns the state of the feed for a tenant, or `None` if its jobs are not in the feed.
pub async fn get_state(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
) -> sqlx::Result<Option<FeedState>> {
    sqlx::query_as!(
        FeedState,
        r#"select
               epoch,
               greatest(floor, since) as "first!",
               feed_horizon() as "horizon!",
               pg_snapshot_xmax(pg_current_snapshot())::text::bigint as "next!",
               used_at < now() - interval '1 hour' as "is_stale!"
           from feed_state
           cross join feed_tenant
           where tenant_id = $1 and since is not null"#,
        tenant.0,
    )
    .fetch_optional(db)
    .await
}

/// Begins a new epoch if the database was restored in another cluster, where transaction numbers differ. This
/// invalidates all earlier cursors and empties the feed. Returns whether a new epoch began.
pub async fn begin_epoch(db: &Pool) -> sqlx::Result<bool> {
    let mut transaction = db.begin().await?;
    let is_new = sqlx::query_scalar!(
        r#"select
               coalesce(feed_state.system_identifier <> control.system_identifier, false)
               or exists (select from feed where txid >= pg_snapshot_xmax(pg_current_snapshot())::text::bigint) as "is_new!"
           from feed_state
           cross join pg_control_system() as control
           for update of feed_state"#,
    )
    .fetch_one(&mut *transaction)
    .await?;
    sqlx::query!(
        "update feed_state set
             system_identifier = control.system_identifier,
             epoch = epoch + $1::bool::int,
             floor = case when $1 then 0 else floor end
         from pg_control_system() as control
         where $1 or feed_state.system_identifier is null",
        is_new,
    )
    .execute(&mut *transaction)
    .await?;
    if is_new {
        sqlx::query!("truncate feed")
            .execute(&mut *transaction)
            .await?;
        sqlx::query!("update feed_tenant set since = null")
            .execute(&mut *transaction)
            .await?;
    }
    transaction.commit().await?;
    Ok(is_new)
}

/// Expires cursors from before `cutoff`, because jobs of that time are deleted.
pub async fn advance_floor(db: impl PgExecutor<'_>, cutoff: DateTime<Utc>) -> sqlx::Result<()> {
    sqlx::query!(
        "update feed_state set floor = coalesce(
             (
                 select txid + 1 from feed
                 where txid >= floor
                   and txid < coalesce(
                       (select txid from feed where txid >= floor and at >= $1 order by txid limit 1),
                       9223372036854775807
                   )
                 order by txid desc
                 limit 1
             ),
             floor
         )",
        cutoff,
    )
    .execute(db)
    .await?;
    Ok(())
}
