//! A follower of one job's log: stored events first, then new ones.

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

/// The longest time without data on a stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The maximum number of events per query.
const PAGE: i64 = 500;

/// The reason that a stream ended before the job did.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FollowError {
    /// The database failed.
    #[error("the database failed")]
    Database(#[from] db::Error),
    /// The job was deleted, or the database has lost events that it had returned.
    #[error("the log of the job no longer exists")]
    LogGone,
    /// The API key that opened the stream was revoked.
    #[error("the key was revoked")]
    KeyRevoked,
}

/// The content and format of the events that a client wants.
#[derive(Clone, Copy)]
pub(crate) struct StreamFilter {
    /// Whether deltas (live output) are sent.
    pub(crate) deltas: bool,
    /// Whether events have the `event` field.
    pub(crate) names: bool,
}

/// A follower of a job from a position in its log to the end of the job.
pub(crate) struct Follower {
    pool: Pool,
    hub: Hub,
    job: JobId,
    position: i64,
    /// The sequence number of an event that is known to exist. The database is read until the follower has that event.
    known: i64,
    ready: VecDeque<Frame>,
    live: Option<Receiver<FrameBatch>>,
    has_ended: bool,
    _counted: FollowGuard,
}

impl Follower {
    /// Creates a follower that starts after `position` in the log.
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

    /// Creates a follower of a job that is about to be accepted. It starts after the first event of the log and does
    /// not need to read the log.
    pub(crate) fn of_new(pool: Pool, hub: Hub, job: JobId) -> Self {
        let live = Some(hub.expect(job));
        Self {
            live,
            ..Self::new(pool, hub, job, FIRST_ENTRY)
        }
    }

    /// Returns the next event, or `None` after the last. Cancel-safe.
    pub(crate) async fn next(&mut self) -> Result<Option<Frame>, FollowError> {
        loop {
            if let Some(frame) = self.ready.pop_front() {
                return Ok(Some(frame));
            }
            // Frees the memory of sent frames before waiting.
            self.ready = VecDeque::new();
            if self.has_ended {
                return Ok(None);
            }
            let Some(live) = self.live.as_mut().filter(|_| self.position >= self.known) else {
                // Boxed, so that it uses no memory while the follower is live.
                Box::pin(self.catch_up()).await?;
                continue;
            };
            match live.recv().await {
                Ok(batch) => self.take(&batch),
                // The follower is too slow for the hub, or the hub has dropped the job. The database has all events.
                Err(RecvError::Lagged(_) | RecvError::Closed) => self.live = None,
            }
        }
    }

    /// Reads a page of the log, and subscribes to the hub after the last page.
    async fn catch_up(&mut self) -> Result<(), FollowError> {
        // The page begins with the event at `position`, or with the next one if that event is trimmed. An empty page
        // means that the log no longer exists.
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

    /// Converts the follower to a response body, which contains comments while there are no events. An error ends the
    /// body, and the client resumes from its last event id.
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
