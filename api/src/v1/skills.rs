//! `/v1/skills`

use std::collections::BTreeSet;

use actix_web::get;
use actix_web::web::{Data, Json, Path};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::db;
use shared::db::worker::Worker;
use shared::job::OutputKind;
use shared::secret::SecretNeed;
use shared::skill::{Catalog, Inputs, Program, Skill};
use sqlx::PgPool;
use utoipa::ToSchema;

use crate::auth::Caller;
use crate::cursor::Page;
use crate::problem::{ApiError, Problem};

type SkillPage = Page<SkillView>;

/// A skill, and whether it can run here.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[schema(as = Skill)]
pub(crate) struct SkillView {
    /// Its name.
    #[schema(example = "image")]
    name: String,
    /// Its name for people.
    title: String,
    /// What it does and when to use it.
    description: String,
    /// The kinds of files that it takes; null for any.
    inputs: Option<Vec<OutputKind>>,
    /// The kinds of files that it makes.
    outputs: Vec<OutputKind>,
    /// JSON Schema of its parameters.
    #[schema(value_type = Object)]
    parameters: Value,
    /// What of the network its commands may reach: `none`, `public`, or hosts, some of them from a
    /// parameter or a secret of the job.
    #[schema(example = "github.com parameter:repository")]
    network: String,
    /// The secrets that its jobs are handed, if the tenant has set them.
    secrets: Vec<SecretNeed>,
    /// How long its jobs may take unless they say otherwise, in seconds.
    timeout_seconds: u32,
    /// SHA-256 of the skill as this service has it.
    digest: String,
    /// Whether a worker that is there can run it.
    available: bool,
    /// What the worker that lacks least would need, with the package that brings it, in words.
    missing: Vec<String>,
}

/// Lists the skills by name.
#[utoipa::path(tag = "skills", responses(
    (status = 200, description = "All skills, on one page", body = SkillPage),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/skills")]
pub(crate) async fn list_skills(
    _: Caller,
    pool: Data<PgPool>,
    catalog: Data<Catalog>,
) -> Result<Json<SkillPage>, ApiError> {
    let workers = db::worker::list(&**pool).await?;
    let data = catalog.iter().map(|skill| view(skill, &workers)).collect();
    Ok(Json(Page {
        data,
        next_cursor: None,
    }))
}

/// Returns a skill.
#[utoipa::path(tag = "skills", params(("name" = String, Path, description = "The skill")), responses(
    (status = 200, description = "The skill", body = SkillView),
    (status = "4XX", description = "The request is wrong", body = Problem, content_type = "application/problem+json"),
))]
#[get("/skills/{name}")]
pub(crate) async fn get_skill(
    _: Caller,
    pool: Data<PgPool>,
    catalog: Data<Catalog>,
    name: Path<String>,
) -> Result<Json<SkillView>, ApiError> {
    let skill = catalog.get(&name).ok_or(ApiError::NotFound("skill"))?;
    let workers = db::worker::list(&**pool).await?;
    Ok(Json(view(skill, &workers)))
}

fn view(skill: &Skill, workers: &[Worker]) -> SkillView {
    let available = workers
        .iter()
        .any(|worker| worker.skills.contains(&skill.name));
    let lacking = workers.iter().map(|worker| {
        // One that another version reports and this one does not know, no skill of ours needs.
        let installed: BTreeSet<_> = worker
            .programs
            .iter()
            .filter_map(|name| Program::parse(name).ok())
            .collect();
        skill.missing(&installed)
    });
    let missing = match lacking.min_by_key(Vec::len) {
        _ if available => Vec::new(),
        None => vec!["a worker".to_owned()],
        Some(missing) => missing,
    };
    SkillView {
        name: skill.name.clone(),
        title: skill.title.clone(),
        description: skill.description.clone(),
        inputs: if let Inputs::Only(kinds) = &skill.inputs {
            Some(kinds.clone())
        } else {
            None
        },
        outputs: skill.outputs.clone(),
        parameters: skill.parameters.as_value().clone(),
        network: skill.network.to_string(),
        secrets: skill.secrets.clone(),
        timeout_seconds: skill.timeout_seconds,
        digest: skill.digest.clone(),
        available,
        missing,
    }
}
