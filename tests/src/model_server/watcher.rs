//! The state of connections: stalled replies, and clients that hang up.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

/// The longest wait for an expected connection state. After that the test fails.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The connections under one marker. Clones share their state.
#[derive(Clone, Debug, Default)]
pub(super) struct Watcher(Arc<watch::Sender<Seen>>);

#[derive(Debug, Default)]
struct Seen {
    /// The number of currently stalled replies.
    stalled: usize,
    /// The number of times that stalled replies were released.
    releases: usize,
    hang_ups: Vec<Instant>,
}

/// A response in progress. If it is dropped before it is complete, it counts as a hang-up.
#[derive(Debug)]
pub(super) struct ResponseInProgress {
    watcher: Watcher,
    is_complete: bool,
    is_stalled: bool,
}

impl Watcher {
    pub(super) fn begin(&self) -> ResponseInProgress {
        ResponseInProgress {
            watcher: self.clone(),
            is_complete: false,
            is_stalled: false,
        }
    }

    pub(super) fn release(&self) {
        self.0.send_modify(|seen| seen.releases += 1);
    }

    pub(super) fn hang_ups(&self) -> Vec<Instant> {
        self.0.borrow().hang_ups.clone()
    }

    pub(super) async fn stalled(&self) {
        self.until("no reply stalled", |seen| seen.stalled > 0)
            .await;
    }

    pub(super) async fn hung_up(&self) -> Instant {
        self.until("no client hung up", |seen| !seen.hang_ups.is_empty())
            .await;
        self.hang_ups()[0]
    }

    async fn until(&self, else_what: &str, is_so: impl Fn(&Seen) -> bool) {
        let mut receiver = self.0.subscribe();
        let waiting = receiver.wait_for(|seen| is_so(seen));
        match tokio::time::timeout(TIMEOUT, waiting).await {
            Ok(seen) => drop(seen.expect("the sender is ours")),
            Err(_) => panic!("{else_what} within {TIMEOUT:?}"),
        }
    }
}

impl ResponseInProgress {
    /// Marks the response as complete: the client has everything that it waits for.
    pub(super) fn complete(&mut self) {
        self.is_complete = true;
    }

    /// Waits for the next release.
    pub(super) async fn stall(&mut self) {
        let mut receiver = self.watcher.0.subscribe();
        let releases = receiver.borrow().releases;
        self.is_stalled = true;
        self.watcher.0.send_modify(|seen| seen.stalled += 1);
        let released = receiver.wait_for(|seen| seen.releases > releases).await;
        drop(released.expect("the sender is ours"));
        self.end_stall();
    }

    fn end_stall(&mut self) {
        if std::mem::take(&mut self.is_stalled) {
            self.watcher.0.send_modify(|seen| seen.stalled -= 1);
        }
    }
}

impl Drop for ResponseInProgress {
    fn drop(&mut self) {
        self.end_stall();
        if !self.is_complete {
            self.watcher
                .0
                .send_modify(|seen| seen.hang_ups.push(Instant::now()));
        }
    }
}
