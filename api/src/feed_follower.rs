//! A follower of one tenant's feed: stored milestones first, then new ones.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use futures_util::stream::try_unfold;
use serde_json::json;
use shared::db::{self, Pool};
use shared::feed::{FeedCursor, FeedEntry, FeedFilter, FeedPosition};
use shared::id::TenantId;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::feed_hub::{EntryBatch, FeedHub};
use crate::follower::FollowError;
use crate::frame::KEEP_ALIVE;
use crate::telemetry::FollowGuard;

/// The longest time without data on a stream.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(15);
/// The maximum number of milestones per query.
const PAGE: i64 = 500;

/// A follower of a tenant from a position in its feed.
pub(crate) struct FeedFollower {
    pool: Pool,
    hub: FeedHub,
    tenant: TenantId,
    filter: FeedFilter,
    epoch: i32,
    position: FeedPosition,
    /// The last position that was sent to the client.
    told: Option<FeedPosition>,
    ready: VecDeque<FeedEntry>,
    live: Option<Receiver<EntryBatch>>,
    /// Whether all milestones from before the start of `live` have been read.
    has_caught_up: bool,
    _counted: FollowGuard,
}

impl FeedFollower {
    /// Creates a follower that starts after the cursor.
    pub(crate) fn new(
        pool: Pool,
        hub: FeedHub,
        tenant: TenantId,
        filter: FeedFilter,
        cursor: FeedCursor,
    ) -> Self {
        let counted = hub.meters.follow();
        Self {
            pool,
            hub,
            tenant,
            filter,
            epoch: cursor.epoch,
            position: cursor.position,
            told: None,
            ready: VecDeque::new(),
            live: None,
            has_caught_up: false,
            _counted: counted,
        }
    }

    /// Returns the next milestone that passes the filter. Cancel-safe.
    async fn next(&mut self) -> Result<FeedEntry, FollowError> {
        loop {
            if let Some(entry) = self.ready.pop_front() {
                return Ok(entry);
            }
            let Some(live) = &mut self.live else {
                self.live = Some(self.hub.subscribe(&self.pool, self.tenant).await?);
                self.has_caught_up = false;
                continue;
            };
            if !self.has_caught_up {
                // Boxed, so that it uses no memory while the follower is live.
                Box::pin(self.catch_up()).await?;
                continue;
            }
            match live.recv().await {
                Ok(batch) => self.extend(batch.iter().cloned()),
                // The follower is too slow for the hub. The database has all milestones.
                Err(RecvError::Lagged(_) | RecvError::Closed) => self.live = None,
            }
        }
    }

    async fn catch_up(&mut self) -> Result<(), FollowError> {
        let page = db::feed::list(&self.pool, self.tenant, self.position, PAGE).await?;
        self.has_caught_up = (page.len() as i64) < PAGE;
        self.extend(page.into_iter());
        Ok(())
    }

    fn extend(&mut self, entries: impl Iterator<Item = FeedEntry>) {
        for entry in entries {
            if entry.position > self.position {
                self.position = entry.position;
                if self.filter.lets_through(&entry.event) {
                    self.ready.push_back(entry);
                }
            }
        }
    }

    /// Converts the follower to a response body, which begins with a cursor. While there are no milestones, the body
    /// contains comments, or a new cursor if the feed has advanced for other tenants.
    pub(crate) fn into_body(
        self,
        revoked: Arc<CancellationToken>,
    ) -> impl Stream<Item = Result<Bytes, FollowError>> {
        try_unfold((self, revoked), async |(mut follower, revoked)| {
            let frame = tokio::select! {
                biased;
                () = revoked.cancelled() => Err(FollowError::KeyRevoked),
                frame = follower.next_frame() => frame,
            };
            if let Err(FollowError::Database(error)) = &frame {
                tracing::warn!(
                    error = error as &dyn std::error::Error,
                    "cannot read the feed for a stream"
                );
            }
            Ok(Some((frame?, (follower, revoked))))
        })
    }

    async fn next_frame(&mut self) -> Result<Bytes, FollowError> {
        if self.told.is_none() {
            return Ok(self.cursor_frame(self.position));
        }
        match timeout(KEEP_ALIVE_INTERVAL, self.next()).await {
            Ok(entry) => Ok(self.event_frame(&entry?)),
            Err(_) => {
                // The hub has passed on everything up to its position, and this follower has received all of it.
                let passed = self.hub.position().filter(|_| self.is_idle());
                let position = passed.max(Some(self.position));
                match position.filter(|_| position > self.told) {
                    Some(position) => Ok(self.cursor_frame(position)),
                    None => Ok(KEEP_ALIVE),
                }
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.has_caught_up && self.live.as_ref().is_some_and(Receiver::is_empty)
    }

    fn event_frame(&mut self, entry: &FeedEntry) -> Bytes {
        self.told = Some(entry.position);
        let id = self.cursor(entry.position);
        // JSON has no line breaks outside strings and escapes those inside, so one data line is enough.
        let data = serde_json::to_string(&entry.event).expect("events have string keys");
        let kind = &entry.event.kind;
        format!("id: {id}\nevent: {kind}\ndata: {data}\n\n").into()
    }

    fn cursor_frame(&mut self, position: FeedPosition) -> Bytes {
        self.told = Some(position);
        let cursor = self.cursor(position);
        let data = json!({"cursor": cursor});
        format!("id: {cursor}\nevent: cursor\ndata: {data}\n\n").into()
    }

    fn cursor(&self, position: FeedPosition) -> String {
        let epoch = self.epoch;
        FeedCursor { epoch, position }.to_string()
    }
}
