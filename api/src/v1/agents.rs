//! `/v1/agents`

mod request;

use actix_web::web::{Data, Json as JsonResponse, Path};
use actix_web::{HttpResponse, delete, get, put};
use serde::Deserialize;
use shared::agent::Agent;
use shared::db::agent::{AgentPut, StoredAgent};
use shared::db::{self, Pool};
use shared::provider::Providers;
use shared::skill::{Catalog, is_name};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::body::{Json, MAX_BYTES_WITH_FILES};
use crate::cursor::{self, Page};
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::query::Query;
use crate::v1::skills::find_all;
use request::PutAgent;

type AgentPage = Page<Agent>;

/// Creates an agent, or a new version of an existing agent.
///
/// A request with the settings of the newest version creates no new version. A job runs the version that was the
/// newest when the job was accepted. Every tenant has a built-in agent named `default`, and can replace it.
#[utoipa::path(tag = "agents", request_body(content = PutAgent, example = json!({"soul": "You are a patient researcher.", "tools": ["shell.exec", "file.read", "file.write"], "limits": {"timeout_seconds": 600}})),
    params(("name" = String, Path, description = "Lower-case letters, digits and single hyphens, at most 64")),
    responses(
        (status = 200, description = "The agent, with its new version", body = Agent),
        (status = 201, description = "The new agent", body = Agent),
        (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
    ),
)]
#[put("/agents/{name}")]
pub(crate) async fn put_agent(
    caller: Caller,
    name: Path<String>,
    body: Json<PutAgent, MAX_BYTES_WITH_FILES>,
    pool: Data<Pool>,
    providers: Data<Providers>,
    catalog: Data<Catalog>,
) -> Result<HttpResponse, ApiError> {
    if !is_name(&name) {
        let detail =
            "an agent's name must have 1 to 64 lower-case letters, digits and single hyphens";
        return Err(ApiError::Malformed(detail.to_owned()));
    }
    let Json(body) = body;
    let skills = find_all(&pool, &catalog, &caller, body.skills()).await?;
    let settings = body.parse(&providers, |name| skills.contains_key(name));
    let settings = settings.map_err(ApiError::Invalid)?;
    let mut transaction = pool.begin().await?;
    let put = db::agent::put(&mut transaction, caller.tenant, &name, &settings).await?;
    transaction.commit().await?;
    Ok(match put {
        AgentPut::Created(agent) => HttpResponse::Created().json(agent),
        AgentPut::Updated(agent) => HttpResponse::Ok().json(agent),
    })
}

/// Query parameters for one agent.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct GetAgent {
    /// The version of the agent; the newest by default. The versions of a deleted agent can still be read.
    version: Option<i32>,
}

/// Returns an agent.
#[utoipa::path(tag = "agents", params(("name" = String, Path, description = "The agent"), GetAgent), responses(
    (status = 200, description = "The agent", body = Agent),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/agents/{name}")]
pub(crate) async fn get_agent(
    caller: Caller,
    name: Path<String>,
    query: Query<GetAgent>,
    pool: Data<Pool>,
) -> Result<JsonResponse<Agent>, ApiError> {
    let absent = ApiError::NotFound("agent");
    if !is_name(&name) {
        return Err(absent);
    }
    let stored = db::agent::get(&**pool, caller.tenant, &name, query.version).await?;
    read(stored.ok_or(absent)?).map(JsonResponse)
}

/// Deletes an agent.
///
/// Jobs that were accepted before still run it. If the name is used again, the version numbers continue. After the
/// tenant's own agent `default` is deleted, the built-in one is used again.
#[utoipa::path(tag = "agents", params(("name" = String, Path, description = "The agent")), responses(
    (status = 204, description = "Deleted"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/agents/{name}")]
pub(crate) async fn delete_agent(
    caller: Caller,
    name: Path<String>,
    pool: Data<Pool>,
) -> Result<HttpResponse, ApiError> {
    if is_name(&name) && db::agent::delete(&**pool, caller.tenant, &name).await? {
        Ok(HttpResponse::NoContent().finish())
    } else {
        Err(ApiError::NotFound("agent"))
    }
}

/// Query parameters for a list of agents.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListAgents {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the agents by name, each in its newest version.
#[utoipa::path(tag = "agents", params(ListAgents), responses(
    (status = 200, description = "A page of agents", body = AgentPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/agents")]
pub(crate) async fn list_agents(
    caller: Caller,
    pool: Data<Pool>,
    query: Query<ListAgents>,
) -> Result<JsonResponse<AgentPage>, ApiError> {
    let ListAgents { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let after = cursor::text(cursor.as_deref())?;
    let stored = db::agent::list(&**pool, caller.tenant, after.as_deref(), limit + 1).await?;
    let page = Page::of(stored, limit, |agent| agent.name.clone());
    // `get_agent` returns the reason why an agent cannot be read.
    let agents = page.data.into_iter().filter_map(|stored| read(stored).ok());
    Ok(JsonResponse(Page {
        data: agents.collect(),
        next_cursor: page.next_cursor,
    }))
}

/// Returns the agent as it is stored, or an error if only another release can read it.
pub(crate) fn read(stored: StoredAgent) -> Result<Agent, ApiError> {
    let (name, version) = (stored.name.clone(), stored.version);
    stored.read().map_err(|error| {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(agent = name, version, error, "a stored agent cannot be read");
        ApiError::Conflict {
            code: ErrorCode::AgentUnreadable,
            detail: format!(
                "this release cannot read version {version} of the agent `{name}`, which another release stored; \
                 update the service, or send the agent again with PUT"
            ),
        }
    })
}
