//! The task that reads the events of followed jobs and passes them on.

use std::collections::VecDeque;
use std::time::Duration;

use shared::db::{self, DedicatedConnection, Pool};
use shared::id::JobId;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{EVENTS_PER_JOB, Hub};

/// The slowest a follower learns of an event, should its notification be lost.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// How often all followed jobs are published again, well within `FOLLOWED_FOR`.
const RENEW_INTERVAL: Duration = Duration::from_secs(60);
/// When a job that was just published is read once more: a statement that was under way may have begun before, and
/// committed after the read.
const RECHECK_DELAY: Duration = Duration::from_millis(100);
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Passes events on until it is dropped.
pub(super) async fn run(hub: &Hub, pool: &Pool) {
    let now = Instant::now();
    let mut publisher = Publisher {
        hub,
        db: DedicatedConnection::of(pool),
        rechecks: VecDeque::new(),
        renewed_at: now,
        scanned_at: now,
    };
    let mut scans = interval(SCAN_INTERVAL);
    scans.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        // However much there is to pass on: what nobody follows any more, or what was refused, goes then.
        let recheck_at = publisher.rechecks.front().map(|(at, _)| *at);
        let is_scan = tokio::select! {
            _ = scans.tick() => true,
            () = hub.woken.notified() => false,
            () = sleep_until(recheck_at.unwrap_or(now)), if recheck_at.is_some() => false,
        };
        let published = if is_scan {
            publisher.scan().await
        } else {
            publisher.publish().await
        };
        if let Err(error) = published {
            publisher.db.reset();
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "cannot read events"
            );
            tokio::time::sleep(RETRY_PAUSE).await;
            hub.publish_all();
            hub.mark_all();
        }
    }
}

/// The state of the task.
struct Publisher<'a> {
    hub: &'a Hub,
    db: DedicatedConnection,
    /// Jobs to read once more, and when.
    rechecks: VecDeque<(Instant, Vec<JobId>)>,
    /// When all followed jobs were last published again.
    renewed_at: Instant,
    /// When the logs of all followed jobs were last read.
    scanned_at: Instant,
}

impl Publisher<'_> {
    /// Passes on what is new of all followed jobs, and lets go of jobs that are not there any more.
    async fn scan(&mut self) -> db::Result<()> {
        let begun_at = Instant::now();
        if self.renewed_at.elapsed() >= RENEW_INTERVAL {
            self.renewed_at = begun_at;
            self.hub.publish_all();
        }
        self.hub.mark_all();
        self.publish().await?;
        let followed = self.hub.followed();
        if !followed.is_empty() {
            let absent = db::run::list_absent(self.db.get().await?, &followed).await?;
            self.hub.let_go(&absent);
        }
        self.scanned_at = begun_at;
        Ok(())
    }

    /// Publishes which jobs are newly followed, and passes on what is new of those whose log may have grown.
    async fn publish(&mut self) -> db::Result<()> {
        let unpublished = self.hub.take_unpublished();
        if !unpublished.is_empty() {
            db::followed_job::publish(self.db.get().await?, &unpublished).await?;
            let recheck_at = Instant::now() + RECHECK_DELAY;
            self.rechecks.push_back((recheck_at, unpublished));
        }
        while let Some((_, jobs)) = self.rechecks.pop_front_if(|(at, _)| *at <= Instant::now()) {
            self.hub.lock().grown.extend(jobs);
        }
        let positions = self.hub.take_positions();
        if !positions.is_empty() {
            let unread_for = self.scanned_at.elapsed();
            let db = self.db.get().await?;
            let events = db::event::follow(db, &positions, unread_for, EVENTS_PER_JOB).await?;
            self.hub.pass_on(&events);
        }
        Ok(())
    }
}
