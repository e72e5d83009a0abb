//! The browser of a job, kept from one call to the next.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::BufReader;
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use crate::side_program::SideProgram;

/// The time after which an unused browser ends. The next call starts another one, which knows the
/// last page and the cookies.
const IDLE: Duration = Duration::from_secs(60);

/// The browser of a job. Dropping it ends the browser.
#[derive(Default)]
pub struct KeptBrowser {
    pub(super) slot: Mutex<Option<KeptProcess>>,
}

/// A browser between two calls.
pub(super) struct KeptProcess(Expiring<BrowserProcess>);

/// A running browser. Dropping it ends the browser.
pub(super) struct BrowserProcess {
    pub(super) program: SideProgram,
    pub(super) input: Sender,
    pub(super) output: BufReader<Receiver>,
}

impl KeptProcess {
    /// Keeps a browser until it is taken or has been idle for too long.
    pub(super) fn keep(process: BrowserProcess) -> Self {
        Self(Expiring::new(process))
    }

    /// Returns the browser, if it has not ended.
    pub(super) async fn take(self) -> Option<BrowserProcess> {
        let process = self.0.take().await;
        process.filter(|process| process.program.exit_report.borrow().is_none())
    }
}

/// A value that is dropped after [`IDLE`], unless it is taken before.
struct Expiring<T> {
    value: Arc<Mutex<Option<T>>>,
    _ending: AbortOnDropHandle<()>,
}

impl<T: Send + 'static> Expiring<T> {
    fn new(value: T) -> Self {
        let value = Arc::new(Mutex::new(Some(value)));
        let kept = value.clone();
        let ending = tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            drop(kept.lock().await.take());
        });
        Self {
            value,
            _ending: AbortOnDropHandle::new(ending),
        }
    }

    async fn take(self) -> Option<T> {
        self.value.lock().await.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a value and a weak reference to it.
    fn value() -> (Arc<()>, std::sync::Weak<()>) {
        let value = Arc::new(());
        let weak = Arc::downgrade(&value);
        (value, weak)
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_idle_for_too_long_is_dropped_and_no_sooner() {
        let (value, weak) = value();
        let kept = Expiring::new(value);
        tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
        assert!(weak.upgrade().is_some());
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(
            weak.upgrade().is_none(),
            "it ends though nobody asks for it"
        );
        assert!(kept.take().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_taken_in_time_stays() {
        let (value, weak) = value();
        let kept = Expiring::new(value);
        tokio::time::sleep(IDLE / 2).await;
        let taken = kept.take().await;
        tokio::time::sleep(IDLE).await;
        assert!(taken.is_some() && weak.upgrade().is_some());
    }
}
