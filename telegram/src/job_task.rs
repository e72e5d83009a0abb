//! The tasks that follow jobs, one per job.

use skillet_client::types::id::JobId;
use tracing::warn;

use crate::adapter::Adapter;
use crate::follower;
use crate::outbox::pause;

/// Follows a job in a separate task, unless a task already does.
pub(crate) fn follow(adapter: &Adapter, job: JobId) {
    if !adapter.followed().insert(job) {
        return;
    }
    let task = adapter.clone();
    adapter.tasks.spawn(async move {
        let place = task.places.acquire().await;
        follow_to_the_end(&task, job).await;
        drop(place);
        task.followed().remove(&job);
    });
}

/// Follows a job. After a transient error, continues from its stored record.
async fn follow_to_the_end(adapter: &Adapter, job: JobId) {
    let mut failures = 0;
    while let Err(error) = follower::follow(adapter, job).await {
        if error.is_stopping() || adapter.stop.is_cancelled() {
            return;
        }
        warn!(%job, %error, "cannot follow a job");
        if !error.is_transient() {
            return;
        }
        pause(failures, &adapter.stop).await;
        failures += 1;
    }
}
