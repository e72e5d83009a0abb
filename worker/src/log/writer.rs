//! The task that commits the events of all jobs of this process.

use std::time::Duration;

use shared::db::log::{Append, Appended, Lease, RunTransition};
use shared::db::{self, DedicatedConnection, DueNotifications, Notifier, Pool};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use super::batch::EventBatch;
use super::linger::{LINGER, LingeringDeltas};
use super::position::LogPositions;
use super::{LogCommand, refused};
use crate::telemetry::LogMeters;
use worker_tool::LeaseLost;

/// The pause before a write is repeated after an outage. Retries end with the lease.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// The writer of the open logs.
pub(super) struct BatchWriter {
    pool: Pool,
    db: DedicatedConnection,
    notifier: Notifier,
    meters: LogMeters,
    positions: LogPositions,
    lingering: LingeringDeltas,
}

impl BatchWriter {
    pub(super) fn new(pool: &Pool, notifier: Notifier, meters: LogMeters) -> Self {
        Self {
            pool: pool.clone(),
            db: DedicatedConnection::of(pool),
            notifier,
            meters,
            positions: LogPositions::default(),
            lingering: LingeringDeltas::default(),
        }
    }

    /// Runs until all logs and the handles of the writer are dropped.
    pub(super) async fn run(mut self, mut queue: mpsc::Receiver<LogCommand>) {
        let mut is_open = true;
        while is_open || self.lingering.next_deadline().is_some() {
            let received = match self.lingering.next_deadline() {
                Some(deadline) => timeout_at(deadline, queue.recv()).await,
                None => Ok(queue.recv().await),
            };
            is_open = !matches!(received, Ok(None));
            let mut batch = EventBatch::default();
            let mut next = received.ok().flatten();
            while let Some(command) = next {
                self.take(command, &mut batch);
                next = if batch.has_room() {
                    queue.try_recv().ok()
                } else {
                    None
                };
            }
            // At the end, no output waits any longer.
            let due = Instant::now() + if is_open { Duration::ZERO } else { LINGER };
            self.take_lingering(&mut batch, due);
            if !batch.is_empty() {
                self.commit(batch).await;
            }
        }
    }

    fn take(&mut self, command: LogCommand, batch: &mut EventBatch) {
        let (lease, events, next, written) = match command {
            LogCommand::Open { lease, position } => return self.positions.open(lease, position),
            LogCommand::Write {
                lease,
                events,
                next,
                written,
            } => (lease, events, next, written),
        };
        let may_linger = written.is_none()
            && matches!(next, RunTransition::Continue)
            && events.iter().all(|event| event.kind().is_delta())
            && !self.positions.is_followed(lease);
        let all = if may_linger {
            if !self.lingering.add(lease, events) {
                return;
            }
            self.lingering.take(lease)
        } else {
            let mut all = self.lingering.take(lease);
            all.extend(events);
            all
        };
        batch.add(lease, all, next, written);
    }

    fn take_lingering(&mut self, batch: &mut EventBatch, now: Instant) {
        while batch.has_room()
            && let Some((lease, events)) = self.lingering.take_due(now)
        {
            batch.add(lease, events, RunTransition::Continue, None);
        }
    }

    async fn commit(&mut self, batch: EventBatch) {
        let last_seq = |lease| Some(self.positions.get(lease)?.last_seq);
        let (appends, waiting) = batch.into_appends(last_seq);
        let begun_at = Instant::now();
        let good = self.append_with_retries(&appends).await;
        let events = appends.iter().map(|append| append.events.len()).sum();
        self.meters.wrote(begun_at.elapsed(), appends.len(), events);
        for append in &appends {
            let lease = append.lease;
            if !good.contains(&lease) {
                self.positions.lose(lease);
            } else if matches!(append.next, RunTransition::Continue) {
                self.positions.advance(lease, append.events.len());
            } else {
                self.positions.close(lease);
            }
        }
        for (lease, written) in waiting {
            let answer = if good.contains(&lease) {
                Ok(())
            } else {
                Err(LeaseLost)
            };
            // The attempt may have been cancelled in the meantime.
            let _ = written.send(answer);
        }
    }

    /// Appends, and returns the leases that were still valid. If the database rejects the batch, each job is written
    /// alone, and the rejected jobs are ended. One job never stops the others.
    async fn append_with_retries(&mut self, appends: &[Append]) -> Vec<Lease> {
        let error = match self.append_through_outage(appends, false).await {
            Ok(good) => return good,
            Err(error) => error,
        };
        tracing::warn!(
            error = &error as &dyn std::error::Error,
            "a batch of log entries was rejected, writing job by job"
        );
        let mut good = Vec::with_capacity(appends.len());
        for append in appends {
            match self
                .append_through_outage(std::slice::from_ref(append), true)
                .await
            {
                Ok(written) => good.extend(written),
                Err(error) => self.refuse(append, &error).await,
            }
        }
        good
    }

    /// Appends, and retries after an outage until the database has answered for each job or every lease is lost. Any
    /// other error is returned, because a retry would fail in the same way.
    async fn append_through_outage(
        &mut self,
        appends: &[Append],
        mut may_be_written: bool,
    ) -> db::Result<Vec<Lease>> {
        let mut is_told = false;
        loop {
            let error = match self.append(appends, may_be_written).await {
                Ok(good) => return Ok(good),
                Err(error) => error,
            };
            self.db.reset();
            if !db::is_outage(&error) {
                return Err(error);
            }
            if !std::mem::replace(&mut is_told, true) {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "the log cannot be written, trying again"
                );
            }
            let is_lost = |append: &Append| self.positions.is_lost(append.lease);
            if appends.iter().all(is_lost) {
                return Ok(Vec::new());
            }
            may_be_written = true;
            tokio::time::sleep(RETRY_PAUSE).await;
        }
    }

    async fn append(&mut self, appends: &[Append], may_be_written: bool) -> db::Result<Vec<Lease>> {
        let Appended { valid, due } = db::log::append(self.db.get().await?, appends).await?;
        let mut good = valid;
        for lease in &good {
            let is_followed = due.followed.contains(&lease.job);
            self.positions.set_followed(*lease, is_followed);
        }
        self.notifier.notify(due);
        if !may_be_written {
            return Ok(good);
        }
        // The response to an earlier try may have been lost after its commit. This query comes last, because that try
        // may have been in progress until now.
        let others = appends
            .iter()
            .filter(|append| !good.contains(&append.lease));
        let others: Vec<_> = others
            .filter_map(|append| Some((append, self.positions.get(append.lease)?.attempt)))
            .collect();
        let written = db::log::list_written(self.db.get().await?, &others).await?;
        // It is unknown whether these jobs have followers, so all of them count as followed.
        self.notifier.notify(DueNotifications {
            followed: written.iter().map(|lease| lease.job).collect(),
            ..DueNotifications::default()
        });
        good.extend(written);
        Ok(good)
    }

    /// Fails a job whose entries the database rejects. If that fails too, the lease is lost, and the
    /// reaper takes over the job.
    async fn refuse(&mut self, append: &Append, error: &db::Error) {
        let job = append.lease.job;
        tracing::error!(
            %job,
            error = error as &dyn std::error::Error,
            "the database rejected the log entries of a job: the job fails"
        );
        match refused::fail(&self.pool, append.lease).await {
            Ok(Some((job, at))) => self.meters.failed(&job, at),
            Ok(None) => {}
            Err(error) => {
                tracing::warn!(
                    %job,
                    error = &error as &dyn std::error::Error,
                    "cannot fail a job whose log entries were rejected"
                );
            }
        }
    }
}
