//! The queue status of a job: what it waits for.

use shared::db::queue::Obstacles;
use shared::db::worker::Worker;
use shared::db::{self, Pool};
use shared::id::JobId;
use shared::job::QueuePlace;
use shared::skill::Catalog;

use crate::problem::ApiError;

/// Where the job stands; `None` if it is queued no more.
pub(super) async fn find(
    pool: &Pool,
    catalog: &Catalog,
    job: JobId,
) -> Result<Option<QueuePlace>, ApiError> {
    let Some(obstacles) = db::queue::get_obstacles(pool, job).await? else {
        return Ok(None);
    };
    if let Some(place) = held_back(&obstacles) {
        return Ok(Some(place));
    }
    if !obstacles.is_runnable {
        let workers = db::worker::list(pool).await?;
        return Ok(Some(lacking(obstacles, catalog, &workers)));
    }
    Ok(Some(match obstacles.reached_cap {
        Some(max_running) => QueuePlace::TenantCap { max_running },
        None => QueuePlace::Position {
            position: obstacles.ahead,
        },
    }))
}

/// What would keep it whatever the workers have.
fn held_back(obstacles: &Obstacles) -> Option<QueuePlace> {
    if let Some(job_id) = obstacles.earlier {
        Some(QueuePlace::EarlierJob { job_id })
    } else if obstacles.is_early {
        Some(QueuePlace::Scheduled {
            run_at: obstacles.run_at,
        })
    } else if obstacles.is_paused {
        Some(QueuePlace::QueuePaused)
    } else if obstacles.is_skill_paused {
        let skill = obstacles.skill.clone();
        skill.map(|skill| QueuePlace::SkillPaused { skill })
    } else {
        None
    }
}

/// What the workers lack.
fn lacking(obstacles: Obstacles, catalog: &Catalog, workers: &[Worker]) -> QueuePlace {
    let of_service = || obstacles.skill.as_deref().and_then(|it| catalog.get(it));
    let needs = obstacles.needs.clone();
    let needs = needs.or_else(|| of_service().map(|skill| skill.needs()));
    let needs = needs.unwrap_or_default();
    let unmet = |worker: &Worker| {
        let has = |need: &str| {
            let mut any = need.split('|');
            any.any(|program| worker.programs.iter().any(|it| it == program))
        };
        let unmet = needs.iter().filter(|need| !has(need));
        unmet.cloned().collect::<Vec<_>>()
    };
    let active = workers.iter().filter(|worker| !worker.draining);
    match active.map(unmet).min_by_key(Vec::len) {
        None => QueuePlace::NoWorker,
        Some(programs) if programs.is_empty() => QueuePlace::NoNetwork,
        Some(programs) => QueuePlace::MissingPrograms { programs },
    }
}
