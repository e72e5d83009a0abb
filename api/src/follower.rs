//! One client that follows one job: what is in the database first, then what comes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use shared::db::{self, Pool};
use shared::event::mark_trimmed;
use shared::id::JobId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::frame::{Frame, KEEP_ALIVE};
use crate::hub::{FIRST_ENTRY, FrameBatch, Hub};
use crate::telemetry::FollowGuard;

/// The longest a stream is silent.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// Events that are read at once.
const PAGE: i64 = 500;

/// Why following ended before the job did.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] db::Error),
    /// The job was deleted, or the database has lost what it had shown.
    #[error("the job's log is not there any more")]
    LogGone,
    /// The key with which the stream was opened was revoked.
    #[error("the key was revoked")]
    KeyRevoked,
}

/// What of the events a client wants.
#[derive(Clone, Copy)]
pub(crate) struct StreamFilter {
    /// Whether live text and output are sent.
    pub(crate) deltas: bool,
    /// Whether events have names.
    pub(crate) names: bool,
}

/// Follows a job from a position in its log to its end.
pub(crate) struct Follower {
    pool: Pool,
    hub: Hub,
    job: JobId,
    position: i64,
    /// An entry that is known to be there; until we have it, the database is read.
    known: i64,
    ready: VecDeque<Frame>,
    live: Option<Receiver<FrameBatch>>,
    has_ended: bool,
    _counted: FollowGuard,
}

impl Follower {
    /// A follower that has what is in the log up to `position`.
    pub(crate) fn new(pool: Pool, hub: Hub, job: JobId, position: i64) -> Self {
        let counted = hub.meters.follow();
        Self {
            pool,
            hub,
            job,
            position,
            known: position,
            ready: VecDeque::new(),
            live: None,
            has_ended: false,
            _counted: counted,
        }
    }

    /// A follower of a job that is about to be accepted, which has the first entry of its log. It need not look
    /// up what has happened so far.
    pub(crate) fn of_new(pool: Pool, hub: Hub, job: JobId) -> Self {
        let live = Some(hub.expect(job));
        Self {
            live,
            ..Self::new(pool, hub, job, FIRST_ENTRY)
        }
    }

    /// The next event; `None` after the last. Can be cancelled and called again.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, FollowError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            // Frees the memory of sent frames while it waits.
            self.ready = VecDeque::new();
            if self.has_ended {
                return Ok(None);
            }
            let Some(live) = self.live.as_mut().filter(|_| self.position >= self.known) else {
                // Boxed, so that it takes no room from then on.
                Box::pin(self.catch_up()).await?;
                continue;
            };
            match live.recv().await {
                Ok(batch) => self.take(&batch),
                // Too slow for the hub, or the hub has let go of the job: the database has it all.
                Err(RecvError::Lagged(_) | RecvError::Closed) => self.live = None,
            }
        }
    }

    /// Reads a page, and goes live when that was all.
    async fn catch_up(&mut self) -> Result<(), FollowError> {
        // It begins with the event that we have, or the next one if that is trimmed. A log that is there has one.
        let (position, after) = (self.position, self.position.saturating_sub(1));
        let events = db::event::list(&self.pool, self.job, after, &[], PAGE).await?;
        let count = events.len() as i64;
        let events = events.into_iter().filter(|event| event.seq > position);
        let events = mark_trimmed(position, events.collect());
        self.extend(events.iter().map(Frame::from));
        let is_behind = self.position == position && position < self.known;
        if count == 0 || is_behind {
            return Err(FollowError::LogGone);
        }
        if count < PAGE && self.live.is_none() && !self.has_ended {
            let (live, begins_at) = self.hub.subscribe(self.job, self.position);
            self.live = Some(live);
            self.known = begins_at;
        }
        Ok(())
    }

    fn take(&mut self, batch: &FrameBatch) {
        let Some((first, last)) = batch.first().zip(batch.last()) else {
            return;
        };
        if first.seq > self.position + 1 {
            self.known = last.seq;
        } else {
            self.extend(batch.iter().cloned());
        }
    }

    fn extend(&mut self, frames: impl Iterator<Item = Frame>) {
        for frame in frames {
            if frame.seq > self.position {
                self.position = frame.seq;
                self.has_ended |= frame.ended.is_some();
                self.ready.push_back(frame);
            }
        }
    }

    /// The events as a body; with comments while there are none. An error ends it, and the client
    /// comes back with the last id it has.
    pub(crate) fn into_body(
        self,
        shown: StreamFilter,
        revoked: Arc<CancellationToken>,
    ) -> impl Stream<Item = Result<Bytes, FollowError>> {
        try_unfold((self, revoked), move |(mut follower, revoked)| async move {
            let next = timeout(KEEP_ALIVE_INTERVAL, follower.next_shown(shown));
            let next = tokio::select! {
                biased;
                () = revoked.cancelled() => Err(FollowError::KeyRevoked),
                next = next => next.unwrap_or(Ok(Some(KEEP_ALIVE))),
            };
            if let Err(FollowError::Database(error)) = &next {
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "cannot read events for a stream"
                );
            }
            Ok(next?.map(|bytes| (bytes, (follower, revoked))))
        })
    }

    async fn next_shown(&mut self, shown: StreamFilter) -> Result<Option<Bytes>, FollowError> {
        loop {
            match self.next().await? {
                Some(frame) if frame.is_delta && !shown.deltas => {}
                Some(frame) if !shown.names => return Ok(Some(frame.unnamed())),
                next => return Ok(next.map(|frame| frame.bytes)),
            }
        }
    }
}
