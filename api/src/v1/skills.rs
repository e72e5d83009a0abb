//! `/v1/skills`

mod instructions;
mod pause;
mod upload;
mod view;

pub(crate) use instructions::get_skill_instructions;
pub(crate) use pause::{pause_skill, resume_skill};
pub(crate) use upload::{Unpacker, upload_skill};

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use actix_web::web::{Data, Json, Path};
use actix_web::{HttpResponse, delete, get};
use serde::Deserialize;
use shared::asset::AssetStore;
use shared::db::job::Needs;
use shared::db::skill::StoredSkill;
use shared::db::{self, Pool};
use shared::id::TenantId;
use shared::skill::{Catalog, Network, Skill, SkillError, is_name};
use utoipa::IntoParams;

use crate::auth::Caller;
use crate::cursor::{self, Page};
use crate::problem::{ApiError, ErrorCode, Problem};
use crate::query::Query;
use view::SkillView;

type SkillPage = Page<SkillView>;

/// A skill that a tenant's jobs can run.
pub(crate) enum AvailableSkill {
    /// The tenant uploaded the skill.
    Uploaded(StoredSkill, Box<Skill>),
    /// The skill is one of the service.
    OfService(Arc<Skill>),
}

impl AvailableSkill {
    /// Returns the skill. Only a skill of the service includes its files.
    pub(crate) fn skill(&self) -> &Skill {
        match self {
            Self::Uploaded(_, skill) => skill,
            Self::OfService(skill) => skill,
        }
    }

    /// Returns the needs of the skill's jobs. A skill of the service has none: workers list the ones that they can
    /// run.
    pub(crate) fn needs(&self) -> Needs {
        match self {
            Self::Uploaded(_, skill) => Needs {
                programs: Some(skill.needs()),
                network: skill.network != Network::None,
            },
            Self::OfService(_) => Needs::default(),
        }
    }

    /// Returns the version of an uploaded skill.
    pub(crate) fn version(&self) -> Option<i32> {
        match self {
            Self::Uploaded(stored, _) => Some(stored.version),
            Self::OfService(_) => None,
        }
    }
}

/// Returns the skills that exist, by name. The tenant's own skill takes precedence over the service's.
pub(crate) async fn find_all(
    pool: &Pool,
    catalog: &Catalog,
    caller: &Caller,
    names: &[String],
) -> Result<HashMap<String, AvailableSkill>, ApiError> {
    // Text that is not a valid name refers to nothing, and the database may not accept it.
    let names: Vec<_> = names.iter().filter(|name| is_name(name)).cloned().collect();
    if names.is_empty() {
        return Ok(HashMap::new());
    }
    let of_service = names.iter().filter_map(|name| {
        let skill = catalog.get(name)?;
        Some((name.clone(), AvailableSkill::OfService(skill.clone())))
    });
    let mut found: HashMap<_, _> = of_service.collect();
    let stored = if caller.has_skills {
        db::skill::list_by_name(pool, caller.tenant, &names).await?
    } else {
        Vec::new()
    };
    if stored.is_empty() {
        return Ok(found);
    }
    for (stored, skill) in read(stored).await? {
        let name = stored.name.clone();
        let skill = skill.map_err(|error| ApiError::Conflict {
            code: ErrorCode::SkillOutdated,
            detail: format!(
                "this release cannot read the skill `{name}`; upload it again: {error}"
            ),
        })?;
        found.insert(name, AvailableSkill::Uploaded(stored, Box::new(skill)));
    }
    Ok(found)
}

/// Returns the skill with this name: the tenant's own, or else the service's.
async fn find(
    pool: &Pool,
    catalog: &Catalog,
    caller: &Caller,
    name: &str,
) -> Result<Option<AvailableSkill>, ApiError> {
    let names = [name.to_owned()];
    let mut found = find_all(pool, catalog, caller, &names).await?;
    Ok(found.remove(name))
}

/// Reads uploaded skills outside the request threads, because the content of a skill determines how long it takes.
async fn read(
    stored: Vec<StoredSkill>,
) -> Result<Vec<(StoredSkill, Result<Skill, SkillError>)>, ApiError> {
    let reading = actix_web::web::block(move || {
        let read = stored.into_iter().map(|stored| {
            let skill = stored.read();
            (stored, skill)
        });
        read.collect()
    });
    let read = reading.await;
    read.map_err(|error| ApiError::Internal(error.into()))
}

/// Query parameters for a list of skills.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct ListSkills {
    /// The number of entries per page, 1 to 100; 20 by default.
    limit: Option<i64>,
    /// The `next_cursor` of the previous page.
    cursor: Option<String>,
}

/// Lists the skills by name.
///
/// The list has the skills of the service and the tenant's own skills. A skill of the tenant replaces a skill of the
/// service with the same name.
#[utoipa::path(tag = "skills", params(ListSkills), responses(
    (status = 200, description = "A page of skills", body = SkillPage),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/skills")]
pub(crate) async fn list_skills(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    query: Query<ListSkills>,
) -> Result<Json<SkillPage>, ApiError> {
    let ListSkills { limit, cursor } = query.into_inner();
    let limit = cursor::limit(limit)?;
    let after = cursor::text(cursor.as_deref())?;
    let workers = db::worker::list(&**pool).await?;
    let of_service = catalog.iter().map(|skill| {
        let origin = catalog.origin(&skill.name);
        let view = SkillView::of_service(skill, origin, &workers);
        (skill.name.clone(), view)
    });
    let mut views: BTreeMap<_, _> = of_service.collect();
    for (stored, skill) in read(db::skill::list(&**pool, caller.tenant).await?).await? {
        match skill {
            Ok(skill) => {
                let view = SkillView::uploaded(&stored, &skill, &workers);
                views.insert(stored.name, view);
            }
            // An earlier release accepted this skill. `get_skill` returns the reason why it cannot be read.
            Err(_) => drop(views.remove(&stored.name)),
        }
    }
    let paused = db::queue::list_paused_skills(&**pool).await?;
    let views = views.into_values().map(|view| view.paused_as(&paused));
    let page = Page::of_all(views, after.as_deref(), limit, |view| {
        view.name().to_owned()
    });
    Ok(Json(page))
}

/// Returns a skill.
#[utoipa::path(tag = "skills", params(("name" = String, Path, description = "The skill")), responses(
    (status = 200, description = "The skill", body = SkillView),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[get("/skills/{name}")]
pub(crate) async fn get_skill(
    caller: Caller,
    pool: Data<Pool>,
    catalog: Data<Catalog>,
    name: Path<String>,
) -> Result<Json<SkillView>, ApiError> {
    let found = find(&pool, &catalog, &caller, &name).await?;
    let found = found.ok_or(ApiError::NotFound("skill"))?;
    let workers = db::worker::list(&**pool).await?;
    let view = match found {
        AvailableSkill::Uploaded(stored, skill) => {
            let packages = db::skill_packages::list(&**pool, &stored.digest).await?;
            let view = SkillView::uploaded(&stored, &skill, &workers);
            view.with_packages(&skill, &packages, &workers)
        }
        AvailableSkill::OfService(skill) => {
            SkillView::of_service(&skill, catalog.origin(&skill.name), &workers)
        }
    };
    let paused = db::queue::list_paused_skills(&**pool).await?;
    Ok(Json(view.paused_as(&paused)))
}

/// Deletes a skill that the tenant uploaded.
///
/// A skill of the service with the same name becomes available again. Jobs that were accepted before still run the
/// deleted skill. If the name is used again, the version numbers continue.
#[utoipa::path(tag = "skills", params(("name" = String, Path, description = "The skill")), responses(
    (status = 204, description = "Deleted"),
    (status = "4XX", description = "The request is invalid", body = Problem, content_type = "application/problem+json"),
))]
#[delete("/skills/{name}")]
pub(crate) async fn delete_skill(
    caller: Caller,
    pool: Data<Pool>,
    assets: Data<AssetStore>,
    name: Path<String>,
) -> Result<HttpResponse, ApiError> {
    if !is_name(&name) || !db::skill::delete(&**pool, caller.tenant, &name).await? {
        return Err(ApiError::NotFound("skill of your own"));
    }
    release_versions(&pool, &assets, caller.tenant, &name).await;
    Ok(HttpResponse::NoContent().finish())
}

/// Deletes the versions of a skill that are not needed any more. An error is only logged, because maintenance does the
/// same.
pub(crate) async fn release_versions(
    pool: &Pool,
    assets: &AssetStore,
    tenant: TenantId,
    name: &str,
) {
    if let Err(error) = db::skill::release(pool, assets, Some((tenant, name))).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(
            error,
            "cannot delete old versions of a skill; maintenance will retry"
        );
    }
}
