//! Notifications of committed writes, from one task per process.
//!
//! The commit of a transaction with a notification takes a lock of the whole cluster, so writers would wait for one
//! another. This task notifies on a connection of its own, and pauses for a multiple of the time that it took. Where
//! many processes wait for the lock, each notifies at most 100 times a second. Losing a notification only costs time:
//! each of them is a hint, and what it is about is found by polling.

use std::collections::HashSet;
use std::time::Duration;

use sqlx::PgExecutor;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::{DedicatedConnection, EVENTS_CHANNEL, FEED_CHANNEL, Pool, WORK_CHANNEL};
use crate::id::JobId;

/// The mean pause between two notifications of a busy process, as a multiple of the time that one takes.
const PAUSE_FACTOR: u32 = 5;
/// The longest mean pause.
const MAX_PAUSE: Duration = Duration::from_millis(10);
/// Time without notifications that later ones may use up, which then follow one another at once.
const MAX_CREDIT: Duration = Duration::from_millis(100);
/// The pause after the database failed; listeners poll meanwhile.
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// Requests that wait. At this many, others are dropped.
const QUEUE_LENGTH: usize = 1024;
/// Job ids of one payload, which has at most 8,000 bytes.
const JOBS_IN_PAYLOAD: usize = 200;

/// What a write has to notify of.
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
    /// There is a job to claim.
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

/// Notifies of committed writes.
#[derive(Clone)]
pub struct Notifier {
    requests: mpsc::Sender<DueNotifications>,
}

impl Notifier {
    /// The notifier's handle, and the task that its owner runs. The task ends when all handles are gone and all is
    /// sent.
    pub fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (requests, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { requests }, run(DedicatedConnection::of(pool), queue))
    }

    /// Requests notifications, after the write is committed.
    pub fn notify(&self, due: DueNotifications) {
        if !due.is_empty() {
            // When the database does not answer, listeners have lost their connections, too, and will poll.
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
                "cannot notify other processes, which poll meanwhile"
            );
            sleep(RETRY_PAUSE).await;
        }
        let now = Instant::now();
        due_at = next_at(due_at, now, now - begun_at);
    }
}

/// When the next notification may be sent, after one that was due at `due_at`, took that long and has been sent.
fn next_at(due_at: Instant, now: Instant, took: Duration) -> Instant {
    let earliest = now.checked_sub(MAX_CREDIT).unwrap_or(now);
    due_at.max(earliest) + (took * PAUSE_FACTOR).min(MAX_PAUSE)
}

async fn send_through(db: &mut DedicatedConnection, due: &DueNotifications) -> sqlx::Result<()> {
    // A notification that is lost in a crash has no listener left either, so its commit waits for no disk.
    execute(db.get().await?, due, Some("off")).await
}

/// Sends notifications in a transaction. They take effect with its commit.
pub(super) async fn send(db: impl PgExecutor<'_>, due: &DueNotifications) -> sqlx::Result<()> {
    execute(db, due, None).await
}

/// Sends notifications, with that `synchronous_commit` for the transaction or with the one that it has.
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
