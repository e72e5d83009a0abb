//! Agents and their versions.

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;
use sqlx::PgExecutor;
use sqlx::types::Json;

use super::Connection;
use crate::agent::{Agent, AgentSettings, BUILT_IN, DEFAULT};
use crate::id::TenantId;
use crate::stored::{UnreadableRow, read};

/// A stored agent.
pub struct StoredAgent {
    /// The name.
    pub name: String,
    /// The version number, which increases by one with each change.
    pub version: i32,
    /// `None` for the built-in agent.
    settings: Option<Json<Box<RawValue>>>,
    created_at: Option<DateTime<Utc>>,
    updated_at: Option<DateTime<Utc>>,
}

impl StoredAgent {
    /// Parses the stored settings. Fails if another release stored settings that this release does not support.
    pub fn read(self) -> Result<Agent, UnreadableRow> {
        let Some(settings) = self.settings else {
            return Ok(Agent::built_in());
        };
        Ok(Agent {
            settings: read("the agent's settings", &settings)?,
            name: self.name,
            version: self.version,
            created_at: self.created_at,
            updated_at: self.updated_at,
        })
    }

    fn built_in() -> Self {
        Self {
            name: DEFAULT.to_owned(),
            version: BUILT_IN,
            settings: None,
            created_at: None,
            updated_at: None,
        }
    }
}

/// The outcome of storing an agent.
pub enum AgentPut {
    /// The agent is new.
    Created(Agent),
    /// The agent has a new version, or its settings were already the same.
    Updated(Agent),
}

/// Creates an agent, or a new version of an existing agent if its settings differ.
pub async fn put(
    db: &mut Connection,
    tenant: TenantId,
    name: &str,
    settings: &AgentSettings,
) -> sqlx::Result<AgentPut> {
    // Of several concurrent calls, the first inserts the row and the others wait here for its commit.
    let before = sqlx::query!(
        r#"insert into agent (tenant_id, name, version, deleted_at)
           values ($1, $2, 0, now())
           on conflict (tenant_id, name) do update set name = excluded.name
           returning version, deleted_at is not null as "is_deleted!""#,
        tenant.0,
        name,
    )
    .fetch_one(&mut *db)
    .await?;
    if !before.is_deleted
        && let Some(stored) = get(&mut *db, tenant, name, None).await?
        && let Ok(agent) = stored.read()
        && agent.settings == *settings
    {
        return Ok(AgentPut::Updated(agent));
    }
    let stored = serde_json::to_string(settings).expect("settings have string keys");
    let row = sqlx::query!(
        r#"with added as (
               insert into agent_version (tenant_id, name, version, settings)
               values ($1, $2, $3, $4::text::json)
           )
           update agent set
               version = $3,
               created_at = case when deleted_at is null then created_at else now() end,
               deleted_at = null
           where tenant_id = $1 and name = $2
           returning created_at, now() as "updated_at!""#,
        tenant.0,
        name,
        before.version + 1,
        stored,
    )
    .fetch_one(db)
    .await?;
    let agent = Agent {
        name: name.to_owned(),
        version: before.version + 1,
        settings: settings.clone(),
        created_at: Some(row.created_at),
        updated_at: Some(row.updated_at),
    };
    Ok(if before.is_deleted {
        AgentPut::Created(agent)
    } else {
        AgentPut::Updated(agent)
    })
}

/// Returns a tenant's agent in its newest version or in `version`. A given version is returned even if the agent was
/// deleted.
pub async fn get(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    name: &str,
    version: Option<i32>,
) -> sqlx::Result<Option<StoredAgent>> {
    let stored = sqlx::query_as!(
        StoredAgent,
        r#"select
               agent.name as "name!", agent_version.version as "version!",
               agent_version.settings as "settings: Json<Box<RawValue>>",
               agent.created_at, agent_version.created_at as updated_at
           from agent
           join agent_version on agent_version.tenant_id = agent.tenant_id and agent_version.name = agent.name
           where agent.tenant_id = $1 and agent.name = $2
             and (
                 agent_version.version = $3
                 or $3 is null and agent.deleted_at is null and agent_version.version = agent.version
             )"#,
        tenant.0,
        name,
        version,
    )
    .fetch_optional(db)
    .await?;
    let built_in = || Agent::is_built_in(name, version).then(StoredAgent::built_in);
    Ok(stored.or_else(built_in))
}

/// Lists the tenant's agents with one of the names, each in its newest version, in no particular order. Can include
/// the built-in agent.
pub async fn list_by_name(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    names: &[String],
) -> sqlx::Result<Vec<StoredAgent>> {
    let mut agents = sqlx::query_as!(
        StoredAgent,
        r#"select
               agent.name as "name!", agent.version as "version!",
               agent_version.settings as "settings: Json<Box<RawValue>>",
               agent.created_at, agent_version.created_at as updated_at
           from agent
           join agent_version using (tenant_id, name, version)
           where agent.tenant_id = $1 and agent.name = any($2) and agent.deleted_at is null"#,
        tenant.0,
        names,
    )
    .fetch_all(db)
    .await?;
    let has_own_default = agents.iter().any(|agent| agent.name == DEFAULT);
    if !has_own_default && names.iter().any(|name| name == DEFAULT) {
        agents.push(StoredAgent::built_in());
    }
    Ok(agents)
}

/// Lists a page of the tenant's agents by name, each in its newest version. Includes the built-in agent.
pub async fn list(
    db: impl PgExecutor<'_>,
    tenant: TenantId,
    after: Option<&str>,
    limit: i64,
) -> sqlx::Result<Vec<StoredAgent>> {
    sqlx::query_as!(
        StoredAgent,
        r#"with stored as (
               select agent.name, agent.version, agent_version.settings, agent.created_at,
                   agent_version.created_at as updated_at
               from agent
               join agent_version using (tenant_id, name, version)
               where agent.tenant_id = $1 and agent.deleted_at is null
           )
           select name as "name!", version as "version!", settings as "settings: Json<Box<RawValue>>", created_at,
               updated_at
           from (
               select * from stored
               union all
               select $2, 0, null, null, null where not exists (select from stored where name = $2)
           ) as agent
           where $3::text is null or name > $3
           order by name
           limit $4"#,
        tenant.0,
        DEFAULT,
        after,
        limit,
    )
    .fetch_all(db)
    .await
}

/// Deletes an agent and keeps its versions. Returns `false` if there is no such agent.
pub async fn delete(db: impl PgExecutor<'_>, tenant: TenantId, name: &str) -> sqlx::Result<bool> {
    let done = sqlx::query!(
        "update agent set deleted_at = now() where tenant_id = $1 and name = $2 and deleted_at is null",
        tenant.0,
        name,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() > 0)
}
