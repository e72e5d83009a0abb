//! The queue status of a job: the reason why it is not running.

use shared::db::queue::QueueBlockers;
use shared::db::worker::Worker;
use shared::db::{self, Pool};
use shared::id::JobId;
use shared::job::QueuePlace;
use shared::skill::Catalog;

use crate::problem::ApiError;

/// Returns the reason why a job is not running, or `None` if the job is no longer queued.
pub(super) async fn find(
    pool: &Pool,
    catalog: &Catalog,
    job: JobId,
) -> Result<Option<QueuePlace>, ApiError> {
    let Some(blockers) = db::queue::get_blockers(pool, job).await? else {
        return Ok(None);
    };
    if let Some(place) = held_back(&blockers) {
        return Ok(Some(place));
    }
    if !blockers.is_runnable {
        let workers = db::worker::list(pool).await?;
        return Ok(Some(lacking(blockers, catalog, &workers)));
    }
    Ok(Some(match blockers.reached_cap {
        Some(max_running) => QueuePlace::TenantCap { max_running },
        None => QueuePlace::Position {
            position: blockers.ahead,
        },
    }))
}

/// Returns the reason that does not depend on workers, if there is one.
fn held_back(blockers: &QueueBlockers) -> Option<QueuePlace> {
    if let Some(job_id) = blockers.earlier {
        Some(QueuePlace::EarlierJob { job_id })
    } else if blockers.is_early {
        Some(QueuePlace::Scheduled {
            run_at: blockers.run_at,
        })
    } else if blockers.is_paused {
        Some(QueuePlace::QueuePaused)
    } else if blockers.is_skill_paused {
        let skill = blockers.skill.clone();
        skill.map(|skill| QueuePlace::SkillPaused { skill })
    } else {
        None
    }
}

/// Returns the reason why no worker can run the job.
fn lacking(blockers: QueueBlockers, catalog: &Catalog, workers: &[Worker]) -> QueuePlace {
    let of_service = || blockers.skill.as_deref().and_then(|it| catalog.get(it));
    let needs = blockers.needs.clone();
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
