//! Installations of the packages of uploaded skills on worker hosts.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

/// The maximum length of a stored error message.
const MAX_ERROR_BYTES: usize = 2000;

/// The outcome of an installation of packages.
#[derive(Clone, Debug)]
pub struct InstalledPackages {
    /// The host and the data directory.
    pub place: String,
    /// The error message, or `None` if all packages are installed.
    pub trouble: Option<String>,
    /// The time at which the installation ended.
    pub at: DateTime<Utc>,
}

/// Stores the outcome of an installation. Replaces the previous outcome.
pub async fn put(
    db: impl PgExecutor<'_>,
    place: &str,
    digest: &str,
    trouble: Option<&str>,
) -> sqlx::Result<()> {
    // NUL is the only character that a Postgres text cannot contain.
    let trouble = trouble.map(|text| {
        let text = text.replace('\0', " ");
        text[..text.floor_char_boundary(MAX_ERROR_BYTES)].to_owned()
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

/// Lists the outcomes for a version of a skill, newest first.
pub async fn list(db: impl PgExecutor<'_>, digest: &str) -> sqlx::Result<Vec<InstalledPackages>> {
    sqlx::query_as!(
        InstalledPackages,
        "select place, trouble, at from skill_packages where digest = decode($1, 'hex') order by at desc limit 20",
        digest,
    )
    .fetch_all(db)
    .await
}

/// Lists the digests for which a tenant has a skill version.
pub async fn stored(db: impl PgExecutor<'_>, digests: &[String]) -> sqlx::Result<Vec<String>> {
    sqlx::query_scalar!(
        r#"select distinct encode(digest, 'hex') as "digest!" from skill_version
           where encode(digest, 'hex') = any($1)"#,
        digests,
    )
    .fetch_all(db)
    .await
}

/// Deletes the outcomes of a place for skill versions that no longer exist.
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
