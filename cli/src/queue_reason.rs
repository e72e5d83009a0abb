//! Descriptions of the reasons why a queued job does not run.

use chrono::SecondsFormat;
use shared::job::QueuePlace;

/// Describes the reason, and the remedy if there is one.
pub(crate) fn describe(place: &QueuePlace) -> String {
    match place {
        QueuePlace::Position { position: 0 } => "it is next".to_owned(),
        QueuePlace::Position { position: 1000.. } => "1000 jobs or more are ahead of it".to_owned(),
        QueuePlace::Position { position: 1 } => "1 job is ahead of it".to_owned(),
        QueuePlace::Position { position } => format!("{position} jobs are ahead of it"),
        QueuePlace::Scheduled { run_at } => format!(
            "it starts at {}",
            run_at.to_rfc3339_opts(SecondsFormat::Secs, true)
        ),
        QueuePlace::EarlierJob { job_id } => format!("{job_id} of its conversation has not ended"),
        QueuePlace::QueuePaused => {
            "the queue is paused; `skillet queue resume` resumes it".to_owned()
        }
        QueuePlace::SkillPaused { skill } => {
            format!("the skill is paused; `skillet queue resume --skill {skill}` resumes it")
        }
        QueuePlace::NoWorker => "no worker is running; start one with `skillet worker`".to_owned(),
        QueuePlace::MissingPrograms { programs } => {
            format!(
                "no worker has {}; see `skillet skills`",
                programs.join(", ")
            )
        }
        QueuePlace::NoNetwork => {
            "no worker with its programs gives commands network access; see `skillet workers`"
                .to_owned()
        }
        QueuePlace::TenantCap { max_running } => {
            format!("the tenant is at capacity: {max_running} of its jobs run at once")
        }
    }
}

/// Whether the job will run soon without intervention.
pub(crate) fn is_ordinary(place: &QueuePlace) -> bool {
    matches!(
        place,
        QueuePlace::Position { .. } | QueuePlace::EarlierJob { .. }
    )
}
