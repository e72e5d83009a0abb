//! Skills that tenants have uploaded, and their versions.

use chrono::{DateTime, Utc};
use sqlx::PgExecutor;

use super::blob::{self, BlobError};
use super::job::Needs;
use super::{Connection, Pool};
use crate::asset::AssetStore;
use crate::id::TenantId;
use crate::skill::{Need, Network, Skill, SkillError};

/// Skills of one tenant. They are listed on one page.
pub const MAX_SKILLS: i64 = 200;

/// A version of an uploaded skill.
#[derive(Clone, Debug)]
pub struct StoredSkill {
    /// Its name.
    pub name: String,
    /// Grows by one with each upload that changes something.
    pub version: i32,
    /// SHA-256 of its files in their stored form, hexadecimal.
    pub digest: String,
    /// When this version came.
    pub created_at: DateTime<Utc>,
    document: String,
    /// What it needs; `?` marks what it can do without, of which its files say a part.
    needs: Vec<String>,
}

impl StoredSkill {
    /// The skill, without its files. An earlier release of ours may have taken what this one does not know.
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
    /// It has a new version.
    Created(StoredSkill),
    /// Its newest version is like that already.
    Unchanged(StoredSkill),
    /// The tenant has as many as it may.
    TooMany,
}

/// Stores a version of a skill, unless the newest one is equal. Its files are stored already, as an invisible asset
/// that the caller discards after the commit. From then on the version refers to the bytes.
pub async fn put(
    db: &mut Connection,
    tenant: TenantId,
    skill: &Skill,
    document: &str,
    digest: &str,
) -> sqlx::Result<SkillPut> {
    // Of two uploads at once the second counts the first, also if they have different names.
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
    // Numbers become visible in their order, so that who reads on from one misses none.
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

/// The newest version of a tenant's skill.
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

/// Whether any tenant has a skill of that name.
pub async fn is_anyones(db: impl PgExecutor<'_>, name: &str) -> sqlx::Result<bool> {
    sqlx::query_scalar!(
        r#"select exists (select from skill where name = $1 and deleted_at is null) as "exists!""#,
        name,
    )
    .fetch_one(db)
    .await
}

/// Requirements of a version of an uploaded skill.
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

/// Those of a tenant's skills that have one of the names, each in its newest version, in no order.
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

/// A tenant's skills by name, each in its newest version.
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

/// Removes a tenant's skill; `false` if there is none of that name. Versions that jobs have stay with them.
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

/// What versions that came after that number need, also what they can do without (`?`), and the number of the last of
/// them. At most 1,000 at once, so ask again while it is not `None`.
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

/// Deletes versions, of one skill or of all, that are not the newest and that no job has, and their bytes.
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
        // A job came for one of them in this very moment; the others go the next time.
        Err(error) if is_held(&error) => return Ok(()),
        gone => gone?,
    };
    for digest in gone {
        blob::release(db, assets, &digest).await?;
    }
    Ok(())
}

/// Whether it is said of a version and a job of it that one of them is there and the other is not.
pub fn is_held(error: &sqlx::Error) -> bool {
    let error = error.as_database_error();
    error.is_some_and(|error| error.constraint() == Some("job_skill_version"))
}
