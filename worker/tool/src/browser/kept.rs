//! The browser of a job, kept from one call to the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::side_program::SideProgram;

/// A browser that is not used for so long ends. The next call starts another, which knows the last page and the
/// cookies.
const IDLE: Duration = Duration::from_secs(60);

/// The browser of a job. Nothing of it is left when this is dropped.
#[derive(Default)]
pub struct KeptBrowser {
    pub(super) slot: Mutex<Option<KeptProcess>>,
}

/// A browser between two calls.
pub(super) struct KeptProcess {
    process: Arc<Mutex<Option<BrowserProcess>>>,
    _ending: AbortOnDropHandle<()>,
}

/// A browser that runs. It dies when this is dropped.
pub(super) struct BrowserProcess {
    pub(super) program: SideProgram,
    pub(super) input: Sender,
    pub(super) output: BufReader<Receiver>,
}

impl KeptProcess {
    /// Keeps a browser until it is taken, or has been idle for too long.
    pub(super) fn keep(process: BrowserProcess) -> Self {
        let process = Arc::new(Mutex::new(Some(process)));
        let kept = process.clone();
        let ending = tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            drop(kept.lock().await.take());
        });
        Self {
            process,
            _ending: AbortOnDropHandle::new(ending),
        }
    }

    /// The browser, if it has not ended.
    pub(super) async fn take(self) -> Option<BrowserProcess> {
        let process = self.process.lock().await.take();
        process.filter(|process| process.program.exit_report.borrow().is_none())
    }
}
