//! The distribution of new milestones to the followers of tenants, with one query per wake-up for all tenants.
//!
//! Notifications are hints: the next scan finds what they miss.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use shared::db::feed::FeedTail;
use shared::db::{
    self, DedicatedConnection, FEED_CHANNEL, NotificationReceiver, Notifications, Pool,
    ReceivedNotification,
};
use shared::feed::{FeedEntry, FeedPosition};
use shared::id::TenantId;
use tokio::sync::{Notify, broadcast};
use tokio::time::{MissedTickBehavior, interval};

use crate::telemetry::ApiMeters;

/// The longest delay before a follower receives a milestone if its notification is lost.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// The interval at which followed feeds are recorded as in use.
const TOUCH_INTERVAL: Duration = Duration::from_secs(3600);
const RETRY_PAUSE: Duration = Duration::from_millis(250);
/// The first pause while milestones wait for a transaction that began before theirs. It doubles up to `LONGEST_PAUSE`.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(100);
/// The maximum number of rows per query. The next query reads the rest.
const PAGE: i64 = 1000;
/// The number of batches that a follower may lag behind before it reads from the database itself.
const BATCHES: usize = 64;

/// New milestones of one tenant, in order.
pub(crate) type EntryBatch = Arc<[FeedEntry]>;

/// The followed tenants, with one channel each.
#[derive(Clone)]
pub(crate) struct FeedHub {
    state: Arc<Mutex<FeedHubState>>,
    woken: Arc<Notify>,
    pub(crate) meters: ApiMeters,
}

#[derive(Default)]
struct FeedHubState {
    tenants: HashMap<TenantId, broadcast::Sender<EntryBatch>>,
    /// All milestones before this position have been passed on. `None` while there are no followers.
    position: Option<FeedPosition>,
    /// The number of tenants added so far.
    added: u64,
}

/// The position and tenants of the next query.
struct FollowedTenants {
    position: FeedPosition,
    tenants: Vec<TenantId>,
    added: u64,
}

impl FeedHub {
    /// Creates a hub without followers.
    pub(crate) fn new(meters: ApiMeters) -> Self {
        Self {
            state: Arc::default(),
            woken: Arc::default(),
            meters,
        }
    }

    /// Follows a tenant. The receiver delivers milestones that are not readable yet when this returns. The caller reads
    /// earlier milestones from the database.
    pub(crate) async fn subscribe(
        &self,
        pool: &Pool,
        tenant: TenantId,
    ) -> db::Result<broadcast::Receiver<EntryBatch>> {
        let horizon = db::feed::horizon(pool).await?;
        let mut guard = self.lock();
        let state = &mut *guard;
        state.position.get_or_insert(FeedPosition::before(horizon));
        let batches = state.tenants.entry(tenant).or_insert_with(|| {
            state.added += 1;
            broadcast::channel(BATCHES).0
        });
        let receiver = batches.subscribe();
        drop(guard);
        self.woken.notify_one();
        Ok(receiver)
    }

    /// Returns the position up to which all milestones have been passed on.
    pub(crate) fn position(&self) -> Option<FeedPosition> {
        self.lock().position
    }

    /// Passes on milestones until it is dropped.
    pub(crate) async fn run(self, pool: Pool, notifications: Notifications) {
        tokio::join!(self.listen(notifications.subscribe()), self.publish(&pool));
    }

    async fn listen(&self, mut notifications: NotificationReceiver) {
        loop {
            match notifications.next().await {
                ReceivedNotification::Notification(it) if it.channel() != FEED_CHANNEL => {}
                _ => self.woken.notify_one(),
            }
        }
    }

    async fn publish(&self, pool: &Pool) {
        let mut db = DedicatedConnection::of(pool);
        let mut scans = interval(SCAN_INTERVAL);
        scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut touched_at: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = scans.tick() => {}
                () = self.woken.notified() => {}
            }
            let touches = touched_at.is_none_or(|at| at.elapsed() > TOUCH_INTERVAL);
            let published = self.publish_all(&mut db, touches).await;
            if let Ok(true) = published {
                touched_at = Some(Instant::now());
            }
            if let Err(error) = published {
                db.reset();
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot read the feed"
                );
                tokio::time::sleep(RETRY_PAUSE).await;
                self.woken.notify_one();
            }
        }
    }

    /// Passes on all new milestones, including those that wait for other transactions. Returns whether it recorded the
    /// feeds as in use.
    async fn publish_all(&self, db: &mut DedicatedConnection, touches: bool) -> db::Result<bool> {
        let mut pause = FIRST_PAUSE;
        let mut has_touched = false;
        while let Some(followed) = self.followed() {
            if touches && !has_touched {
                db::feed::touch(db.get().await?, &followed.tenants).await?;
                has_touched = true;
            }
            let after = followed.position;
            let tail = db::feed::follow(db.get().await?, after, &followed.tenants, PAGE).await?;
            let (has_unsettled, has_more) = (tail.has_unsettled, tail.has_more);
            let is_passed_on = self.pass_on(tail, followed.added);
            if has_unsettled {
                tokio::time::sleep(pause).await;
                pause = LONGEST_PAUSE.min(pause * 2);
            } else if !has_more && is_passed_on {
                break;
            }
        }
        Ok(has_touched)
    }

    /// Returns the position and tenants of the next query, or `None` without followers.
    fn followed(&self) -> Option<FollowedTenants> {
        let mut guard = self.lock();
        let state = &mut *guard;
        state
            .tenants
            .retain(|_, batches| batches.receiver_count() > 0);
        if state.tenants.is_empty() {
            state.position = None;
        }
        Some(FollowedTenants {
            position: state.position?,
            tenants: state.tenants.keys().copied().collect(),
            added: state.added,
        })
    }

    /// Passes on the result of a query that was made when `added` tenants had been added. Returns `false` if more
    /// tenants have been added since: the result lacks their milestones, and the query must be repeated.
    fn pass_on(&self, tail: FeedTail, added: u64) -> bool {
        let mut batches: HashMap<TenantId, Vec<FeedEntry>> = HashMap::new();
        for (tenant, entry) in tail.entries {
            batches.entry(tenant).or_default().push(entry);
        }
        let mut state = self.lock();
        if state.added != added {
            return false;
        }
        let now = shared::clock::now();
        for (tenant, batch) in batches {
            for entry in &batch {
                let age = now - entry.event.at;
                self.meters.delivered(age.to_std().unwrap_or_default());
            }
            if let Some(followers) = state.tenants.get(&tenant) {
                // The last follower may have disconnected.
                let _ = followers.send(batch.into());
            }
        }
        if tail.position.is_some() {
            state.position = tail.position;
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, FeedHubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
