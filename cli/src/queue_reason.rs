//! Reasons why a queued job does not run, in words.

use chrono::SecondsFormat;
use shared::job::QueuePlace;

/// The reason, and what to do about it.
pub(crate) fn describe(place: &QueuePlace) -> String {
    match place {
        QueuePlace::Position { position: 0 } => "it is next".to_owned(),
        QueuePlace::Position { position: 1000.. } => "1000 jobs or more are before it".to_owned(),
        QueuePlace::Position { position: 1 } => "1 job is before it".to_owned(),
        QueuePlace::Position { position } => format!("{position} jobs are before it"),
        QueuePlace::Scheduled { run_at } => format!(
            "it starts at {}",
            run_at.to_rfc3339_opts(SecondsFormat::Secs, true)
        ),
        QueuePlace::EarlierJob { job_id } => format!("{job_id} of its conversation has not ended"),
        QueuePlace::QueuePaused => {
            "the queue is paused; `skillet queue resume` ends that".to_owned()
        }
        QueuePlace::SkillPaused { skill } => {
            format!("the skill is paused; `skillet queue resume --skill {skill}` ends that")
        }
        QueuePlace::NoWorker => "no worker is running; start one with `skillet worker`".to_owned(),
        QueuePlace::MissingPrograms { programs } => {
            format!(
                "no worker has {}; see `skillet skills`",
                programs.join(", ")
            )
        }
        QueuePlace::NoNetwork => {
            "no worker that has its programs gives commands a network; see `skillet workers`"
                .to_owned()
        }
        QueuePlace::TenantCap { max_running } => {
            format!("the tenant is at capacity: {max_running} of its jobs run at once")
        }
    }
}

/// Whether the job will run by itself before long.
pub(crate) fn is_ordinary(place: &QueuePlace) -> bool {
    matches!(
        place,
        QueuePlace::Position { .. } | QueuePlace::EarlierJob { .. }
    )
}
