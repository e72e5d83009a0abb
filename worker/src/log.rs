//! The log writer of this process, which commits the events of all jobs in batches.
//!
//! While one batch is sent to the database, the next one grows, and adjacent text in it is merged. The database thus
//! sets the pace. Only live output that nobody follows waits for a timer: see `linger`.

mod batch;
mod linger;
mod position;
mod redaction;
mod refused;
mod writer;

use std::sync::{Arc, OnceLock};

use futures_util::future::{BoxFuture, FutureExt};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::telemetry::LogMeters;
use position::LogPosition;
use redaction::EventRedactor;
use shared::db::log::{Lease, RunTransition};
use shared::db::{Notifier, Pool};
use shared::event::EventData;
use worker_tool::{EventSink, LeaseLost};
use worker_workspace::Redactor;
use writer::BatchWriter;

/// The maximum number of commands that wait for the writer. Beyond it, senders wait too.
const QUEUE_LENGTH: usize = 1024;

/// The handle of the log writer, which opens logs.
#[derive(Clone)]
pub(crate) struct LogWriter {
    commands: mpsc::Sender<LogCommand>,
}

/// The log of a job under one lease.
pub(crate) struct JobLog {
    lease: Lease,
    commands: mpsc::Sender<LogCommand>,
    lost: CancellationToken,
    /// Set if the job has secrets.
    redaction: OnceLock<EventRedactor>,
}

enum LogCommand {
    Open {
        lease: Lease,
        position: LogPosition,
    },
    Write {
        lease: Lease,
        events: Vec<EventData>,
        next: RunTransition,
        written: Option<Written>,
    },
}

type Written = oneshot::Sender<Result<(), LeaseLost>>;

impl LogWriter {
    /// Creates the handle of the writer, and the task that the caller must run. The task ends
    /// when all handles are dropped.
    pub(crate) fn new(
        pool: &Pool,
        notifier: Notifier,
        meters: LogMeters,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (commands, queue) = mpsc::channel(QUEUE_LENGTH);
        let writer = BatchWriter::new(pool, notifier, meters);
        (Self { commands }, writer.run(queue))
    }

    /// Opens the log of a job. `lost` is cancelled when the lease turns out to be lost.
    pub(crate) async fn open(
        &self,
        lease: Lease,
        last_seq: i64,
        attempt: i32,
        lost: CancellationToken,
    ) -> JobLog {
        let position = LogPosition {
            last_seq,
            attempt,
            is_followed: false,
            lost: lost.clone(),
        };
        let log = JobLog {
            lease,
            commands: self.commands.clone(),
            lost,
            redaction: OnceLock::new(),
        };
        log.send(LogCommand::Open { lease, position }).await;
        log
    }
}

impl JobLog {
    /// Redacts these secrets in everything that is appended from now on.
    pub(crate) fn hide(&self, redactor: Arc<Redactor>) {
        // A second call would hide the same secrets, because an attempt has one set.
        let _ = self.redaction.set(EventRedactor::new(redactor));
    }

    /// Appends an event after all earlier ones, without waiting for the commit.
    pub(crate) async fn append(&self, event: EventData) {
        self.write(vec![event], RunTransition::Continue, None).await;
    }

    /// Appends an event, and waits until it and all earlier events are committed.
    pub(crate) async fn commit(&self, event: EventData) -> Result<(), LeaseLost> {
        self.commit_all(vec![event], RunTransition::Continue).await
    }

    /// Appends the last events of this lease, and waits until they are committed.
    pub(crate) async fn finish(
        self,
        events: Vec<EventData>,
        next: RunTransition,
    ) -> Result<(), LeaseLost> {
        self.commit_all(events, next).await
    }

    async fn commit_all(
        &self,
        events: Vec<EventData>,
        next: RunTransition,
    ) -> Result<(), LeaseLost> {
        let (written, answer) = oneshot::channel();
        self.write(events, next, Some(written)).await;
        answer.await.unwrap_or(Err(LeaseLost))
    }

    async fn write(&self, events: Vec<EventData>, next: RunTransition, written: Option<Written>) {
        let (events, next) = match self.redaction.get() {
            Some(redaction) => (redaction.redact(events), redaction.redact_transition(next)),
            None => (events, next),
        };
        if events.is_empty() && written.is_none() {
            // Redaction holds back all of the text for now.
            return;
        }
        self.send(LogCommand::Write {
            lease: self.lease,
            events,
            next,
            written,
        })
        .await;
    }

    async fn send(&self, command: LogCommand) {
        if self.commands.send(command).await.is_err() {
            // The writer outlives all logs, unless the process is shutting down.
            self.lost.cancel();
        }
    }
}

impl EventSink for JobLog {
    fn append(&self, event: EventData) -> BoxFuture<'_, ()> {
        self.append(event).boxed()
    }

    fn commit(&self, event: EventData) -> BoxFuture<'_, Result<(), LeaseLost>> {
        self.commit(event).boxed()
    }

    fn redactor(&self) -> Option<Arc<Redactor>> {
        self.redaction.get().map(|events| events.redactor.clone())
    }
}
