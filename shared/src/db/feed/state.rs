//! The validity of cursors: the epoch of the feed, and the earliest position from which it is complete.

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
    /// The feed is complete from this transaction on.
    pub first: i64,
    /// All before this transaction can be read.
    pub horizon: i64,
    /// No transaction has this number or a later one yet.
    pub next: i64,
    /// Whether the last use was noted more than an hour ago.
    pub is_stale: bool,
}

impl FeedState {
    /// Whether nothing is missing after that cursor.
    pub fn is_valid(&self, cursor: FeedCursor) -> bool {
        let txid = cursor.position.txid;
        cursor.epoch == self.epoch && (self.first..=self.next).contains(&txid)
    }

    /// The cursor of now: what is committed up to it can be read by other queries.
    pub fn now(&self) -> FeedPosition {
        FeedPosition::before(self.horizon)
    }
}

/// The state of the feed for a tenant; `None` if the tenant's jobs do not go to it.
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

/// Begins a new epoch if the database was restored in another cluster, where transactions have other numbers: earlier
/// cursors are not valid any more, and the feed begins anew. Returns whether it was so.
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

/// Lets cursors from before that time expire, since jobs of that time are deleted.
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
