//! The distribution of new events to the followers of jobs, with one query per wake-up for all jobs.
//!
//! Writers send notifications for followed jobs only, so the hub publishes the followed jobs before it reads their
//! events: events committed earlier are read, and events committed later are notified. Notifications are hints: the
//! next scan finds what they miss.

mod publisher;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shared::db::{EVENTS_CHANNEL, NotificationReceiver, Notifications, Pool, ReceivedNotification};
use shared::event::JobEvent;
use shared::id::JobId;
use tokio::sync::{Notify, broadcast};

use uuid::Uuid;

use crate::frame::Frame;
use crate::telemetry::ApiMeters;

/// The maximum number of events per job and query. The next query reads the rest.
const EVENTS_PER_JOB: i64 = 500;
/// The number of batches that a follower may lag behind before it reads from the database itself.
const BATCHES: usize = 8;

/// The sequence number of the first event in a log, which records the creation of the job.
pub(crate) const FIRST_ENTRY: i64 = 1;

/// New events of one job, in order.
pub(crate) type FrameBatch = Arc<[Frame]>;

/// The followed jobs, with one channel each.
#[derive(Clone)]
pub(crate) struct Hub {
    state: Arc<Mutex<HubState>>,
    woken: Arc<Notify>,
    pub(crate) meters: ApiMeters,
}

#[derive(Default)]
struct HubState {
    feeds: HashMap<JobId, Feed>,
    /// Jobs whose log may have grown.
    grown: HashSet<JobId>,
    /// Followed jobs that are not published yet.
    unpublished: HashSet<JobId>,
}

struct Feed {
    /// The sequence number of the last event that was passed on.
    position: i64,
    /// Whether the job may not exist yet.
    is_expected: bool,
    batches: broadcast::Sender<FrameBatch>,
}

impl Hub {
    /// Creates a hub without followers.
    pub(crate) fn new(meters: ApiMeters) -> Self {
        Self {
            state: Arc::default(),
            woken: Arc::default(),
            meters,
        }
    }

    /// Follows a job whose events up to `position` the caller has. Returns the receiver, and the position after which
    /// it receives events. If that position is later, the caller reads the gap itself.
    pub(crate) fn subscribe(
        &self,
        job: JobId,
        position: i64,
    ) -> (broadcast::Receiver<FrameBatch>, i64) {
        let mut state = self.lock();
        if let Some(feed) = state.feeds.get(&job) {
            return (feed.batches.subscribe(), feed.position);
        }
        let (batches, receiver) = broadcast::channel(BATCHES);
        let feed = Feed {
            position,
            is_expected: false,
            batches,
        };
        state.feeds.insert(job, feed);
        // Nobody was notified of events between the caller's read and now.
        state.grown.insert(job);
        state.unpublished.insert(job);
        drop(state);
        self.woken.notify_one();
        (receiver, position)
    }

    /// Follows a job that is about to be created as followed (`NewJobRow::is_followed`). Events after its first one are
    /// notified.
    pub(crate) fn expect(&self, job: JobId) -> broadcast::Receiver<FrameBatch> {
        let (batches, receiver) = broadcast::channel(BATCHES);
        let feed = Feed {
            position: FIRST_ENTRY,
            is_expected: true,
            batches,
        };
        self.lock().feeds.insert(job, feed);
        receiver
    }

    /// Passes on events until it is dropped.
    pub(crate) async fn run(self, pool: Pool, notifications: Notifications) {
        tokio::join!(
            self.listen(notifications.subscribe()),
            publisher::run(&self, &pool)
        );
    }

    async fn listen(&self, mut notifications: NotificationReceiver) {
        loop {
            match notifications.next().await {
                // A database that crashed has lost the table of followed jobs.
                ReceivedNotification::Gap => {
                    self.publish_all();
                    self.mark_all();
                }
                ReceivedNotification::Notification(it) if it.channel() == EVENTS_CHANNEL => {
                    self.mark(it.payload());
                }
                ReceivedNotification::Notification(_) => {}
            }
        }
    }

    /// Marks the followed jobs that a notification names, or all followed jobs if it names none.
    fn mark(&self, jobs: &str) {
        if jobs.is_empty() {
            return self.mark_all();
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        let followed = jobs
            .split(',')
            .filter_map(|job| Some(JobId(Uuid::try_parse(job).ok()?)))
            .filter(|job| state.feeds.contains_key(job));
        let before = state.grown.len();
        state.grown.extend(followed);
        if state.grown.len() > before {
            self.woken.notify_one();
        }
    }

    fn mark_all(&self) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state
            .feeds
            .retain(|_, feed| feed.batches.receiver_count() > 0);
        state.grown = state.feeds.keys().copied().collect();
        self.woken.notify_one();
    }

    fn publish_all(&self) {
        let mut guard = self.lock();
        let state = &mut *guard;
        state.unpublished = state.feeds.keys().copied().collect();
    }

    fn take_unpublished(&self) -> Vec<JobId> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let unpublished = std::mem::take(&mut state.unpublished).into_iter();
        unpublished
            .filter(|job| state.feeds.contains_key(job))
            .collect()
    }

    fn take_positions(&self) -> Vec<(JobId, i64)> {
        let mut guard = self.lock();
        let state = &mut *guard;
        let grown = state.grown.drain();
        grown
            .filter_map(|job| state.feeds.get(&job).map(|feed| (job, feed.position)))
            .collect()
    }

    fn pass_on(&self, events: &[JobEvent]) {
        let now = shared::clock::now();
        for JobEvent { event, .. } in events {
            self.meters
                .delivered((now - event.at).to_std().unwrap_or_default());
        }
        let mut guard = self.lock();
        let state = &mut *guard;
        for events in events.chunk_by(|one, next| one.job_id == next.job_id) {
            let job = events[0].job_id;
            let Some(feed) = state.feeds.get_mut(&job) else {
                continue;
            };
            let frames: FrameBatch = events
                .iter()
                .map(|event| Frame::from(&event.event))
                .collect();
            let last = &frames[frames.len() - 1];
            let (position, has_ended) = (last.seq, last.ended.is_some());
            feed.position = position;
            feed.is_expected = false;
            let is_followed = feed.batches.send(frames).is_ok();
            if has_ended || !is_followed {
                state.feeds.remove(&job);
            } else if events.len() as i64 == EVENTS_PER_JOB {
                state.grown.insert(job);
                self.woken.notify_one();
            }
        }
    }

    /// Returns the followed jobs that were accepted.
    fn followed(&self) -> Vec<JobId> {
        let state = self.lock();
        let accepted = state.feeds.iter().filter(|(_, feed)| !feed.is_expected);
        accepted.map(|(job, _)| *job).collect()
    }

    /// Ends the feeds of jobs that have ended or were deleted. A follower then reads the end of the log, or finds that
    /// the log was deleted.
    fn let_go(&self, jobs: &[JobId]) {
        let mut state = self.lock();
        for job in jobs {
            state.feeds.remove(job);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HubState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
