//! The log writer of this process, which commits the events of all jobs in batches.
//!
//! While a batch is on its way to the database the next one grows, and adjacent text merges in it; so the database sets
//! the pace. Only live output that nobody follows waits for a timer: see `linger`.

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

/// Commands that wait for the writer. At this many, senders wait too.
const QUEUE_LENGTH: usize = 1024;

/// Opens logs.
#[derive(Clone)]
pub(crate) struct LogWriter {
    commands: mpsc::Sender<LogCommand>,
}

/// The log of a job under one lease.
pub(crate) struct JobLog {
    lease: Lease,
    commands: mpsc::Sender<LogCommand>,
    lost: CancellationToken,
    /// Set when the job turns out to have secrets.
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
    /// The writer's handle, and the task that its owner runs. The task ends when all handles are gone.
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
    /// Keeps these secrets out of all that is appended from now on.
    pub(crate) fn hide(&self, redactor: Arc<Redactor>) {
        // A second call would hide the same secrets: an attempt has one set.
        let _ = self.redaction.set(EventRedactor::new(redactor));
    }

    /// Appends an event some time soon, after those before it.
    pub(crate) async fn append(&self, event: EventData) {
        self.write(vec![event], RunTransition::Continue, None).await;
    }

    /// Appends an event and waits until it is committed, and with it all before it.
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
            // All of it is held back for now.
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
            // The writer ends after all logs, unless the process is going down.
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
