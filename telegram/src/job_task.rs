//! The tasks that follow jobs, one per job.

use skillet_client::types::id::JobId;
use tracing::warn;

use crate::adapter::Adapter;
use crate::follower;

/// Follows a job in a separate task, unless a task already does.
pub(crate) fn follow(adapter: &Adapter, job: JobId) {
    if !adapter.followed().insert(job) {
        return;
    }
    let task = adapter.clone();
    adapter.tasks.spawn(async move {
        let place = task.places.acquire().await;
        match follower::follow(&task, job).await {
            Err(error) if !error.is_stopping() => warn!(%job, %error, "cannot follow a job"),
            _ => {}
        }
        drop(place);
        task.followed().remove(&job);
    });
}
