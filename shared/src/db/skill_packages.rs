//! The packages of uploaded skills on machines with workers.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

/// The longest reason that is kept.
const MAX_TROUBLE_BYTES: usize = 2000;

/// The outcome of an installation.
#[derive(Clone, Debug)]
pub struct InstalledPackages {
    /// Host and data directory.
    pub place: String,
    /// The reason why it failed; `None` if all are installed.
    pub trouble: Option<String>,
    /// When it ended.
    pub at: DateTime<Utc>,
}

/// Records the outcome of an installation, instead of the one before.
pub async fn put(
    db: impl PgExecutor<'_>,
    place: &str,
    digest: &str,
    trouble: Option<&str>,
) -> sqlx::Result<()> {
    // A NUL byte is the one character that a text cannot have.
    let trouble = trouble.map(|text| {
        let text = text.replace('\0', " ");
        text[..text.floor_char_boundary(MAX_TROUBLE_BYTES)].to_owned()
    });
    sqlx::query!(
        "insert into skill_packages (place, digest, trouble) values ($1, decode($2, 'hex'), $3)
         on conflict (place, digest) do update set trouble = excluded.trouble, at = now()",
        place,
        digest,
        trouble,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The outcomes for a version of a skill, the newest first.
pub async fn list(db: impl PgExecutor<'_>, digest: &str) -> sqlx::Result<Vec<InstalledPackages>> {
    sqlx::query_as!(
        InstalledPackages,
        "select place, trouble, at from skill_packages where digest = decode($1, 'hex') order by at desc limit 20",
        digest,
    )
    .fetch_all(db)
    .await
}

/// Those of the digests that some tenant has a version of.
pub async fn stored(db: impl PgExecutor<'_>, digests: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select distinct encode(digest, 'hex') as "digest!" from skill_version
           where encode(digest, 'hex') = any($1)"#,
        digests,
    )
    .fetch_all(db)
    .await
}

/// Forgets what is recorded of a place and of versions that nobody has any more.
pub async fn delete_unstored(db: impl PgExecutor<'_>, place: &str) -> sqlx::Result<()> {
    sqlx::query!(
        "delete from skill_packages
         where place = $1
           and not exists (select from skill_version where skill_version.digest = skill_packages.digest)",
        place,
    )
    .execute(db)
    .await?;
    Ok(())
}
