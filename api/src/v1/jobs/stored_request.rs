//! `GET /v1/jobs/{id}/request`: the stored request of a job.

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use serde::Serialize;
use serde_json::{Map, Value};
use shared::db::{self, Pool};
use shared::hook::Hooks;
use shared::id::{AssetId, ConversationId, JobId};
use shared::job::{Input, OutputSchema};
use shared::limits::Limits;
use shared::model_list::ModelList;
use shared::webhook::JobWebhook;
use utoipa::ToSchema;

use super::{find, readable};
use crate::auth::Caller;
use crate::problem::{ApiError, Problem};

/// The stored request of a job, with all defaults filled in. It can be sent to `POST /v1/jobs` again.
#[derive(Serialize, ToSchema)]
#[schema(as = JobRequest)]
pub(crate) struct StoredRequest {
    /// The skill that the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    skill: Option<String>,
    /// The agent that the job runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<String>,
    /// The conversation that the job continues.
    #[serde(skip_serializing_if = "Option::is_none")]
    conversation_id: Option<ConversationId>,
    /// The title of the job.
    title: String,
    /// The client's own reference.
    #[serde(skip_serializing_if = "Option::is_none")]
    external_id: Option<String>,
    /// The task, in the user's own words.
    prompt: String,
    /// The model, or a list of models in the order in which they are tried.
    model: ModelList,
    /// The input files. Files that came with the request are assets.
    inputs: Vec<StoredInput>,
    /// The parameters of the skill, including the defaults of those that were not given.
    parameters: Map<String, Value>,
    /// Rules for tool calls, in addition to those of the skill or the agent.
    hooks: Hooks,
    /// The limits of the job.
    limits: Limits,
    /// The JSON Schema of the job's `result`.
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<OutputSchema>,
    /// The priority within the tenant. Higher priorities start first.
    priority: i16,
    /// The number of attempts that can end with an internal error before the job fails.
    max_attempts: i16,
    /// The job's own webhook.
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<JobWebhook>,
    /// Data that the client attached to the job.
    metadata: Map<String, Value>,
}

/// An input file: an asset, or a file on the web.
#[derive(Serialize, ToSchema)]
struct StoredInput {
    /// The asset.
    #[serde(skip_serializing_if = "Option::is_none")]
    asset_id: Option<AssetId>,
    /// The URL of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    /// The file name in the workspace, if the client gave one.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

impl From<Input> for StoredInput {
    fn from(input: Input) -> Self {
        match input {
            Input::Asset { id } => Self {
                asset_id: Some(id),
                url: None,
                name: None,
            },
            Input::Url { url, name } => Self {
                asset_id: None,
                url: Some(url),
                name,
            },
        }
    }
}

/// Returns the stored request of a job: its prompt, inputs, parameters, hooks, limits and priority.
#[utoipa::path(tag = "jobs", params(("job_id" = JobId, Path, description = "The job")), responses(
    (status = 200, description = "The request", body = StoredRequest),
    (status = 409, description = "Another release stored the request, and this release cannot read it", body = Problem, content_type = "application/problem+json"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/jobs/{job_id}/request")]
pub(crate) async fn get_job_request(
    caller: Caller,
    pool: Data<Pool>,
    job: Path<JobId>,
) -> Result<Json<StoredRequest>, ApiError> {
    let job = find(&pool, caller.tenant, *job).await?;
    let request = db::job::get_request(&**pool, caller.tenant, job.id).await?;
    let request = readable(request)?;
    Ok(Json(StoredRequest {
        skill: job.skill,
        agent: job.agent,
        conversation_id: job.conversation_id,
        title: job.title,
        external_id: job.external_id,
        prompt: request.prompt,
        model: request.models.unwrap_or_else(|| job.model.into()),
        inputs: request.inputs.into_iter().map(StoredInput::from).collect(),
        parameters: request.parameters,
        hooks: request.hooks,
        limits: request.limits,
        output_schema: request.output_schema,
        priority: request.priority.0,
        max_attempts: request.max_attempts,
        webhook: request.webhook,
        metadata: job.metadata,
    }))
}
