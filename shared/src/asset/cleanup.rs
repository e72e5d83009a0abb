//! Removal of abandoned uploads, in tasks that outlive the request or attempt that started them.

use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

/// How long a process that ends waits for removals. Maintenance removes the rest a day later.
const FINISH_TIMEOUT: Duration = Duration::from_secs(10);

/// The tasks that finish or remove uploads. Clones share them.
#[derive(Clone)]
pub(super) struct Cleanup {
    tasks: TaskTracker,
    /// That of the process: those of the API's threads end before it.
    runtime: Handle,
}

impl Cleanup {
    pub(super) fn on_current_runtime() -> Self {
        Self {
            tasks: TaskTracker::new(),
            runtime: Handle::current(),
        }
    }

    /// Runs a task to its end in the background.
    pub(super) fn spawn<T: Send + 'static>(
        &self,
        task: impl Future<Output = T> + Send + 'static,
    ) -> JoinHandle<T> {
        self.tasks.spawn_on(task, &self.runtime)
    }

    /// Waits for all tasks.
    pub(super) async fn finish(&self) {
        self.tasks.close();
        if timeout(FINISH_TIMEOUT, self.tasks.wait()).await.is_err() {
            let tasks = self.tasks.len();
            tracing::warn!(tasks, "left abandoned uploads in the asset store");
        }
    }
}
