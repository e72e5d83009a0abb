//! What some worker does for all of them now and then.

use chrono::TimeDelta;
use sqlx::PgExecutor;

/// A piece of work that one worker does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Chore {
    /// Room for the coming weeks, and what is left over from the last minutes.
    Upkeep,
    /// What has been kept for long enough.
    Retention,
    /// Bytes that nobody knows of, a part of the store at a time.
    Blobs,
}

impl Chore {
    fn name(self) -> &'static str {
        match self {
            Self::Upkeep => "upkeep",
            Self::Retention => "retention",
            Self::Blobs => "blobs",
        }
    }
}

/// Takes a chore on if nobody has for as long as the pause, and returns how often that was done before.
pub async fn begin(
    db: impl PgExecutor<'_>,
    chore: Chore,
    pause: TimeDelta,
) -> sqlx::Result<Option<i32>> {
    sqlx::query_scalar!(
        r#"update chore set begun_at = now(), position = (position + 1) % 1000000000
           where name = $1 and begun_at <= now() - $2::bigint * interval '1 second'
           returning position as "position!""#,
        chore.name(),
        pause.num_seconds(),
    )
    .fetch_optional(db)
    .await
}
