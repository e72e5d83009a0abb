//! Notifications of committed writes, sent by one task per process.
//!
//! The commit of a transaction with a notification takes a lock on the whole cluster, so writers would wait for each
//! other. This task sends notifications on its own connection, and then pauses for a multiple of the time that it
//! took. If many processes wait for the lock, each sends at most 100 notifications per second. A lost notification
//! only causes a delay: it is a hint, and listeners also poll.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::PgExecutor;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{DedicatedConnection, EVENTS_CHANNEL, FEED_CHANNEL, Pool, WORK_CHANNEL};
use crate::id::JobId;

/// The mean delay between two notifications of a busy process, as a multiple of the duration of one.
const PAUSE_FACTOR: u32 = 5;
/// The maximum mean delay.
const MAX_PAUSE: Duration = Duration::from_millis(10);
/// The maximum time without notifications that counts as credit. Later notifications use the credit and follow without
/// delay.
const MAX_CREDIT: Duration = Duration::from_millis(100);
/// The delay after the database failed. Listeners poll during this time.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// The maximum number of waiting requests. Further requests are dropped.
const QUEUE_LENGTH: usize = 1024;
/// The number of job ids in one payload, which can have at most 8,000 bytes.
const JOBS_IN_PAYLOAD: usize = 200;

/// The notifications that a write requires.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DueNotifications {
    /// Followed jobs with new events.
    pub followed: HashSet<JobId>,
    /// Whether there is a job to claim.
    pub work: bool,
    /// Whether the feed has new milestones.
    pub feed: bool,
}

impl DueNotifications {
    /// Creates the notification that a job is ready to be claimed.
    pub fn work() -> Self {
        Self {
            work: true,
            ..Self::default()
        }
    }

    fn is_empty(&self) -> bool {
        self.followed.is_empty() && !self.work && !self.feed
    }

    fn add(&mut self, more: Self) {
        self.followed.extend(more.followed);
        self.work |= more.work;
        self.feed |= more.feed;
    }
}

/// A handle for requesting notifications of committed writes.
#[derive(Clone)]
pub struct Notifier {
    requests: mpsc::Sender<DueNotifications>,
}

impl Notifier {
    /// Creates the handle, and the task that its owner runs. The task ends when all handles are dropped and all
    /// notifications are sent.
    pub fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (requests, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { requests }, run(DedicatedConnection::of(pool), queue))
    }

    /// Requests notifications. Call this after the write is committed.
    pub fn notify(&self, due: DueNotifications) {
        if !due.is_empty() {
            // The queue is full when the database does not respond. Then listeners have also lost their connections
            // and will poll.
            let _ = self.requests.try_send(due);
        }
    }
}

async fn run(mut db: DedicatedConnection, mut queue: mpsc::Receiver<DueNotifications>) {
    let mut due_at = Instant::now();
    while let Some(mut due) = queue.recv().await {
        sleep_until(due_at).await;
        while let Ok(more) = queue.try_recv() {
            due.add(more);
        }
        let begun_at = Instant::now();
        if let Err(error) = send_through(&mut db, &due).await {
            db.reset();
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot notify other processes; they poll until it works again"
            );
            sleep(RETRY_PAUSE).await;
        }
        let now = Instant::now();
        due_at = next_at(due_at, now, now - begun_at);
    }
}

/// Returns the earliest time of the next notification, after one that was due at `due_at`, took `took` and has been
/// sent.
fn next_at(due_at: Instant, now: Instant, took: Duration) -> Instant {
    let earliest = now.checked_sub(MAX_CREDIT).unwrap_or(now);
    due_at.max(earliest) + (took * PAUSE_FACTOR).min(MAX_PAUSE)
}

async fn send_through(db: &mut DedicatedConnection, due: &DueNotifications) -> sqlx::Result<()> {
    // A crash that loses the notification also disconnects the listeners, so its commit does not wait for the disk.
    execute(db.get().await?, due, Some("off")).await
}

/// Sends notifications in a transaction. They take effect when it commits.
pub(super) async fn send(db: impl PgExecutor<'_>, due: &DueNotifications) -> sqlx::Result<()> {
    execute(db, due, None).await
}

/// Sends notifications. With `synchronous_commit`, sets this parameter for the transaction.
async fn execute(
    db: impl PgExecutor<'_>,
    due: &DueNotifications,
    synchronous_commit: Option<&str>,
) -> sqlx::Result<()> {
    if due.is_empty() {
        return Ok(());
    }
    let followed: Vec<_> = due.followed.iter().map(|job| job.0.to_string()).collect();
    let payloads = followed.chunks(JOBS_IN_PAYLOAD).map(|ids| ids.join(","));
    let payloads: Vec<_> = payloads.collect();
    sqlx::query!(
        "with setting as materialized (
             select set_config('synchronous_commit', coalesce($7, current_setting('synchronous_commit')), true)
         )
         select pg_notify($1, payload) from setting, unnest($2::text[]) as payload
         union all select pg_notify($3, '') from setting where $4
         union all select pg_notify($5, '') from setting where $6",
        EVENTS_CHANNEL,
        &payloads,
        WORK_CHANNEL,
        due.work,
        FEED_CHANNEL,
        due.feed,
        synchronous_commit,
    )
    .fetch_all(db)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SLOW: Duration = Duration::from_millis(50);

    #[test]
    fn a_process_that_was_quiet_notifies_at_once_and_then_at_most_100_times_a_second_if_that_is_slow()
     {
        let quiet_until = Instant::now() + Duration::from_secs(60);
        let mut due_at = quiet_until - Duration::from_secs(30);
        let mut at_once = 0;
        while due_at <= quiet_until {
            due_at = next_at(due_at, quiet_until, SLOW);
            at_once += 1;
        }
        assert_eq!(at_once, 11);
        let mut now = due_at;
        for _ in 0..100 {
            now = due_at;
            due_at = next_at(due_at, now, SLOW);
        }
        assert_eq!(now - quiet_until, MAX_PAUSE * 100);
    }

    #[test]
    fn notifications_that_take_little_time_follow_one_another_soon() {
        let now = Instant::now();
        let took = Duration::from_micros(300);
        assert_eq!(next_at(now, now, took) - now, took * PAUSE_FACTOR);
    }
}
