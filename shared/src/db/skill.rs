//! Uploaded skills of tenants and their versions.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::blob::{self, BlobError};
use super::job::Needs;
use super::{Connection, Pool};
use crate::asset::AssetStore;
use crate::id::TenantId;
use crate::skill::{Need, Network, Skill, SkillError};

/// The maximum number of skills of a tenant. They are listed on one page.
pub const MAX_SKILLS: i64 = 200;

/// A version of an uploaded skill.
#[derive(Clone, Debug)]
pub struct StoredSkill {
    /// The name.
    pub name: String,
    /// The version number, which increases by one with each upload that changes the skill.
    pub version: i32,
    /// The SHA-256 of the files in their stored form, in hexadecimal.
    pub digest: String,
    /// The time at which this version was uploaded.
    pub created_at: DateTime<Utc>,
    document: String,
    /// The required programs, and the optional ones with the suffix `?`. Some optional programs come from the files of
    /// the skill.
    needs: Vec<String>,
}

impl StoredSkill {
    /// Parses the skill without its files. Fails if another release stored a skill that this release does not support.
    pub fn read(&self) -> Result<Skill, SkillError> {
        let skill = Skill::parse(&self.name, &self.document, self.digest.clone())?;
        let optional = self.needs.iter().filter_map(|need| need.strip_suffix('?'));
        Ok(Skill {
            optional: optional.flat_map(Need::parse).collect(),
            ..skill
        })
    }
}

/// The outcome of an upload.
pub enum SkillPut {
    /// The skill has a new version.
    Created(StoredSkill),
    /// The newest version is the same.
    Unchanged(StoredSkill),
    /// The tenant has reached the maximum number of skills.
    TooMany,
}

/// Stores a version of a skill unless the newest version is the same. The files are already stored as an invisible
/// asset, which the caller discards after the commit. After that, the version refers to the bytes.
pub async fn put(
    db: &mut Connection,
    tenant: TenantId,
    skill: &Skill,
    document: &str,
    digest: &str,
) -> sqlx::Result<SkillPut> {
    // Of two concurrent uploads, the second counts the skill of the first, even if their names differ.
    sqlx::query!(
        "select pg_advisory_xact_lock(hashtextextended('skills of ' || $1::uuid::text, 0))",
        tenant.0,
    )
    .execute(&mut *db)
    .await?;
    let before = sqlx::query!(
        r#"insert into skill (tenant_id, name, version, deleted_at)
           values ($1, $2, 0, now())
           on conflict (tenant_id, name) do update set name = excluded.name
           returning version, deleted_at is not null as "is_deleted!",
               (select count(*) from skill where tenant_id = $1 and deleted_at is null) as "others!""#,
        tenant.0,
        skill.name,
    )
    .fetch_one(&mut *db)
    .await?;
    if !before.is_deleted {
        if let Some(newest) = get(&mut *db, tenant, &skill.name).await?
            && newest.digest == digest
        {
            return Ok(SkillPut::Unchanged(newest));
        }
    } else if before.others >= MAX_SKILLS {
        return Ok(SkillPut::TooMany);
    }
    // Numbers become visible in order, so that a reader that continues after a number misses none.
    sqlx::query!("select pg_advisory_xact_lock(hashtext('skill_version'))")
        .execute(&mut *db)
        .await?;
    let optional = skill.optional_needs();
    let optional = optional.into_iter().map(|need| format!("{need}?"));
    let needs: Vec<_> = skill.needs().into_iter().chain(optional).collect();
    let row = sqlx::query!(
        r#"with added as (
               insert into skill_version (tenant_id, name, version, digest, document, needs, needs_network)
               values ($1, $2, $3, decode($4, 'hex'), $5, $6, $7)
           )
           update skill set
               version = $3,
               created_at = case when deleted_at is null then created_at else now() end,
               deleted_at = null
           where tenant_id = $1 and name = $2
           returning now() as "created_at!""#,
        tenant.0,
        skill.name,
        before.version + 1,
        digest,
        document,
        &needs,
        skill.network != Network::None,
    )
    .fetch_one(db)
    .await?;
    Ok(SkillPut::Created(StoredSkill {
        name: skill.name.clone(),
        version: before.version + 1,
        digest: digest.to_owned(),
        created_at: row.created_at,
        document: document.to_owned(),
        needs,
    }))
}

/// Returns the newest version of a tenant's skill.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &str,
) -> sqlx::Result<Option<StoredSkill>> {
    sqlx::query_as!(
        StoredSkill,
        r#"select name, version, encode(digest, 'hex') as "digest!", skill_version.created_at, document, needs
           from skill
           join skill_version using (tenant_id, name, version)
           where tenant_id = $1 and name = $2 and deleted_at is null"#,
        tenant.0,
        name,
    )
    .fetch_optional(db)
    .await
}

/// Whether any tenant has a skill with this name.
pub async fn exists_for_any_tenant(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from skill where name = $1 and deleted_at is null) as "exists!""#,
        name,
    )
    .fetch_one(db)
    .await
}

/// Returns the requirements of a version of an uploaded skill.
pub async fn get_needs(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &str,
    version: i32,
) -> sqlx::Result<Option<Needs>> {
    sqlx::query_as!(
        Needs,
        r#"select array(select need from unnest(needs) as need where need not like '%?') as "programs?",
                  needs_network as network
           from skill_version
           where tenant_id = $1 and name = $2 and version = $3"#,
        tenant.0,
        name,
        version,
    )
    .fetch_optional(db)
    .await
}

/// Lists the tenant's skills with one of the names, each in its newest version, in no particular order.
pub async fn list_by_name(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    names: &[String],
) -> sqlx::Result<Vec<StoredSkill>> {
    sqlx::query_as!(
        StoredSkill,
        r#"select name, version, encode(digest, 'hex') as "digest!", skill_version.created_at, document, needs
           from skill
           join skill_version using (tenant_id, name, version)
           where tenant_id = $1 and name = any($2) and deleted_at is null"#,
        tenant.0,
        names,
    )
    .fetch_all(db)
    .await
}

/// Lists the tenant's skills by name, each in its newest version.
pub async fn list(db: impl PgExecutor<'_>, tenant: TenantId) -> sqlx::Result<Vec<StoredSkill>> {
    sqlx::query_as!(
        StoredSkill,
        r#"select name, version, encode(digest, 'hex') as "digest!", skill_version.created_at, document, needs
           from skill
           join skill_version using (tenant_id, name, version)
           where tenant_id = $1 and deleted_at is null
           order by name"#,
        tenant.0,
    )
    .fetch_all(db)
    .await
}

/// Deletes a tenant's skill. Returns `false` if it does not exist. Versions that jobs use are kept.
pub async fn delete(db: impl PgExecutor<'_>, tenant: TenantId, name: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update skill set deleted_at = now() where tenant_id = $1 and name = $2 and deleted_at is null",
        tenant.0,
        name,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}

/// Returns the required and optional (`?`) programs of versions after a number, and the number of the last of these
/// versions. Reads at most 1,000 versions: repeat it until it returns `None`.
pub async fn list_needs(
    db: impl PgExecutor<'_>,
    after: i64,
) -> sqlx::Result<Option<(i64, Vec<String>)>> {
    let rows = sqlx::query!(
        "select number, needs from skill_version where number > $1 order by number limit 1000",
        after,
    )
    .fetch_all(db)
    .await?;
    let last = rows.last().map(|row| row.number);
    let needs = rows.into_iter().flat_map(|row| row.needs).collect();
    Ok(last.map(|number| (number, needs)))
}

/// Deletes versions of one skill or of all skills that are not the newest and that no job uses, and their bytes.
pub async fn release(
    db: &Pool,
    assets: &AssetStore,
    skill: Option<(TenantId, &str)>,
) -> Result<(), BlobError> {
    let (tenant, name) = skill.unzip();
    let gone = sqlx::query_scalar!(
        r#"delete from skill_version as version
           using skill
           where skill.tenant_id = version.tenant_id and skill.name = version.name
             and (skill.deleted_at is not null or version.version <> skill.version)
             and ($1::uuid is null or version.tenant_id = $1)
             and ($2::text is null or version.name = $2)
             and not exists (
                 select from job
                 where job.tenant_id = version.tenant_id and job.skill = version.name
                   and job.skill_version = version.version
             )
           returning encode(version.digest, 'hex') as "digest!""#,
        tenant.map(|tenant| tenant.0),
        name,
    )
    .fetch_all(db)
    .await;
    let gone = match gone {
        // A job has just been created for one of these versions. The next call deletes the others.
        Err(error) if is_version_in_use(&error) => return Ok(()),
        gone => gone?,
    };
    for digest in gone {
        blob::release(db, assets, &digest).await?;
    }
    Ok(())
}

/// Whether the error is a violation of the foreign key from a job to the version of its skill.
pub fn is_version_in_use(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("job_skill_version"))
}
