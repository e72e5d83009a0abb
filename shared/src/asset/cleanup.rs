//! Removal of abandoned uploads, in tasks that outlive the request or attempt that started them.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// The time that a stopping process waits for removals. Maintenance removes the rest a day later.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// Background tasks that finish or remove uploads. Clones share the tasks.
#[derive(Clone)]
pub(super) struct Cleanup {
    tasks: TaskTracker,
    /// The runtime of the process. The runtimes of the API threads stop before it.
    runtime: Handle,
}

impl Cleanup {
    pub(super) fn on_current_runtime() -> Self {
        Self {
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
        }
    }

    /// Runs a task to completion in the background.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_on(task, &self.runtime)
    }

    /// Waits until all tasks end, at most [`FINISH_TIMEOUT`].
    pub(super) async fn finish(&self) {
        self.tasks.close();
        if timeout(FINISH_TIMEOUT, self.tasks.wait()).await.is_err() {
            let tasks = self.tasks.len();
            tracing::warn!(
                tasks,
                "abandoned uploads were not removed in time; maintenance removes them after a day"
            );
        }
    }
}
