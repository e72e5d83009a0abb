//! The tasks that follow jobs, one each.

use skillet_client::types::id::JobId;
use tracing::warn;

use crate::adapter::Adapter;
use crate::follower;

/// Follows a job in a task of its own, unless that is done already.
pub(crate) fn follow(adapter: &Adapter, job: JobId) {
    if !adapter.followed().insert(job) {
        return;
    }
    let task = adapter.clone();
    adapter.tasks.spawn(async move {
        let place = task.places.acquire().await;
        match follower::follow(&task, job).await {
            Err(error) if !error.is_stopping() => warn!(%job, %error, "a job is not followed"),
            _ => {}
        }
        drop(place);
        task.followed().remove(&job);
    });
}
