//! The task that reads the events of followed jobs and passes them on.

use std::collections::VecDeque;
use std::time::Duration;

use shared::db::{self, DedicatedConnection, Pool};
use shared::id::JobId;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::{EVENTS_PER_JOB, Hub};

/// The longest delay before a follower receives an event if its notification is lost.
const SCAN_INTERVAL: Duration = Duration::from_secs(5);
/// The interval at which all followed jobs are published again, well below `FOLLOWED_FOR`.
const RENEW_INTERVAL: Duration = Duration::from_secs(60);
/// The delay before a newly published job is read again. A concurrent statement may have begun before the publication
/// and committed after the first read.
const RECHECK_DELAY: Duration = Duration::from_millis(100);
const RETRY_PAUSE: Duration = Duration::from_millis(250);

/// Passes on events until it is dropped.
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
        // Scans run even under constant load: they remove jobs without followers and jobs that were not accepted.
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
    /// The jobs to read again, with the time of the read.
    rechecks: VecDeque<(Instant, Vec<JobId>)>,
    /// The time at which all followed jobs were last published again.
    renewed_at: Instant,
    /// The time at which the logs of all followed jobs were last read.
    scanned_at: Instant,
}

impl Publisher<'_> {
    /// Passes on the new events of all followed jobs, and ends the feeds of jobs that are no longer in the queue.
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

    /// Publishes newly followed jobs, and passes on the new events of jobs whose log may have grown.
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
