//! The one writer of this process: it takes what all jobs have to say and commits it together.
//!
//! There is no timer. While a batch is on its way to the database the next one grows, and text that
//! belongs together merges in it; so the database sets the pace.

mod batch;
mod curtain;

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use sqlx::PgPool;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::secret::Redactor;
use crate::telemetry::LogMeters;
use batch::Batch;
use curtain::Curtain;
use shared::db::Steady;
use shared::db::log::{Append, Lease, Next};
use shared::event::EventData;

/// Commands that wait for the writer before those who bring more have to wait themselves.
const QUEUE_LENGTH: usize = 1024;
/// The pause before a write that failed is tried again; the lease ends the tries.
const RETRY_PAUSE: Duration = Duration::from_millis(200);

/// Another worker has the job, or it has ended: nothing that this one writes is seen.
#[derive(Debug, thiserror::Error)]
#[error("the lease is lost")]
pub(crate) struct LeaseLost;

/// Opens logs.
#[derive(Clone)]
pub(crate) struct LogWriter {
    commands: mpsc::Sender<Command>,
}

/// The log of a job under one lease.
pub(crate) struct JobLog {
    lease: Lease,
    commands: mpsc::Sender<Command>,
    lost: CancellationToken,
    /// Drawn when the job turns out to have secrets.
    curtain: OnceLock<Curtain>,
}

enum Command {
    Open {
        lease: Lease,
        position: Position,
    },
    Write {
        lease: Lease,
        events: Vec<EventData>,
        next: Next,
        written: Option<Written>,
    },
}

type Written = oneshot::Sender<Result<(), LeaseLost>>;

/// Where a log stands.
struct Position {
    last_seq: i64,
    attempt: i32,
    lost: CancellationToken,
}

impl LogWriter {
    /// The writer's handle, and the task that its owner runs. The task ends when all handles are gone.
    pub(crate) fn new(
        pool: &PgPool,
        meters: LogMeters,
    ) -> (Self, impl Future<Output = ()> + use<>) {
        let (commands, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { commands }, write(Steady::of(pool), meters, queue))
    }

    /// Opens the log of a job. `lost` is cancelled when the lease turns out to be lost.
    pub(crate) async fn open(
        &self,
        lease: Lease,
        last_seq: i64,
        attempt: i32,
        lost: CancellationToken,
    ) -> JobLog {
        let position = Position {
            last_seq,
            attempt,
            lost: lost.clone(),
        };
        let log = JobLog {
            lease,
            commands: self.commands.clone(),
            lost,
            curtain: OnceLock::new(),
        };
        log.send(Command::Open { lease, position }).await;
        log
    }
}

impl JobLog {
    /// Keeps these secrets out of all that is appended from now on.
    pub(crate) fn hide(&self, redactor: Arc<Redactor>) {
        // Who does it twice hides the same: an attempt has one set of secrets.
        let _ = self.curtain.set(Curtain::new(redactor));
    }

    /// What finds the job's secrets; `None` if it has none.
    pub(crate) fn redactor(&self) -> Option<Arc<Redactor>> {
        self.curtain.get().map(|curtain| curtain.redactor.clone())
    }

    /// The text without the job's secrets, for what is shown elsewhere than in the log.
    pub(crate) fn redact<'a>(&self, text: &'a str) -> Cow<'a, str> {
        match self.curtain.get() {
            Some(curtain) => curtain.redactor.redact(text),
            None => Cow::Borrowed(text),
        }
    }

    /// Appends an event some time soon, after those before it.
    pub(crate) async fn append(&self, event: EventData) {
        self.write(vec![event], Next::Continue, None).await;
    }

    /// Appends an event and waits until it is committed, and with it all before it.
    pub(crate) async fn commit(&self, event: EventData) -> Result<(), LeaseLost> {
        self.commit_all(vec![event], Next::Continue).await
    }

    /// Appends the last events of this lease, and waits until they are committed.
    pub(crate) async fn close(self, events: Vec<EventData>, next: Next) -> Result<(), LeaseLost> {
        self.commit_all(events, next).await
    }

    async fn commit_all(&self, events: Vec<EventData>, next: Next) -> Result<(), LeaseLost> {
        let (written, answer) = oneshot::channel();
        self.write(events, next, Some(written)).await;
        answer.await.unwrap_or(Err(LeaseLost))
    }

    async fn write(&self, events: Vec<EventData>, next: Next, written: Option<Written>) {
        let (events, next) = match self.curtain.get() {
            Some(curtain) => (curtain.pass(events), curtain.pass_next(next)),
            None => (events, next),
        };
        if events.is_empty() && written.is_none() {
            // All of it is held back for now.
            return;
        }
        self.send(Command::Write {
            lease: self.lease,
            events,
            next,
            written,
        })
        .await;
    }

    async fn send(&self, command: Command) {
        if self.commands.send(command).await.is_err() {
            // The writer ends after all logs, unless the process is going down.
            self.lost.cancel();
        }
    }
}

async fn write(mut db: Steady, meters: LogMeters, mut queue: mpsc::Receiver<Command>) {
    let mut positions = HashMap::new();
    while let Some(command) = queue.recv().await {
        let mut batch = Batch::default();
        let mut next = Some(command);
        while let Some(command) = next {
            match command {
                Command::Open { lease, position } => {
                    positions.insert(lease, position);
                }
                Command::Write {
                    lease,
                    events,
                    next,
                    written,
                } => {
                    batch.add(lease, events, next, written);
                }
            }
            next = if batch.has_room() {
                queue.try_recv().ok()
            } else {
                None
            };
        }
        if !batch.is_empty() {
            batch.commit(&mut db, &meters, &mut positions).await;
        }
    }
}

impl Batch {
    async fn commit(
        self,
        db: &mut Steady,
        meters: &LogMeters,
        positions: &mut HashMap<Lease, Position>,
    ) {
        let (appends, waiting) =
            self.into_appends(|lease| positions.get(&lease).map(|position| position.last_seq));
        let begun_at = Instant::now();
        let good = append_surely(db, &appends, positions).await;
        let events = appends.iter().map(|append| append.events.len()).sum();
        meters.wrote(begun_at.elapsed(), appends.len(), events);
        for append in &appends {
            let is_good = good.contains(&append.lease);
            if is_good && matches!(append.next, Next::Continue) {
                if let Some(position) = positions.get_mut(&append.lease) {
                    position.last_seq += append.events.len() as i64;
                }
            } else if let Some(position) = positions.remove(&append.lease)
                && !is_good
            {
                position.lost.cancel();
            }
        }
        for (lease, written) in waiting {
            let answer = if good.contains(&lease) {
                Ok(())
            } else {
                Err(LeaseLost)
            };
            // Who asked may have been cancelled meanwhile.
            let _ = written.send(answer);
        }
    }
}

/// Appends, and after an error tries again until the database has said what became of each job or
/// every lease in the batch is lost.
async fn append_surely(
    db: &mut Steady,
    appends: &[Append],
    positions: &HashMap<Lease, Position>,
) -> Vec<Lease> {
    match append(db, appends).await {
        Ok(good) => return good,
        Err(error) => {
            db.forget();
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the log cannot be written, trying again"
            );
        }
    }
    let lost = |lease: &Lease| {
        positions
            .get(lease)
            .is_none_or(|position| position.lost.is_cancelled())
    };
    while !appends.iter().all(|append| lost(&append.lease)) {
        tokio::time::sleep(RETRY_PAUSE).await;
        match append_again(db, appends, positions).await {
            Ok(good) => return good,
            Err(_) => db.forget(),
        }
    }
    Vec::new()
}

async fn append(db: &mut Steady, appends: &[Append]) -> sqlx::Result<Vec<Lease>> {
    shared::db::log::append(db.get().await?, appends).await
}

async fn append_again(
    db: &mut Steady,
    appends: &[Append],
    positions: &HashMap<Lease, Position>,
) -> sqlx::Result<Vec<Lease>> {
    let mut good = append(db, appends).await?;
    // The answer to an earlier try may have been lost after its commit. Asked last: that try may have been on its
    // way until just now.
    let others = appends
        .iter()
        .filter(|append| !good.contains(&append.lease));
    let others: Vec<_> = others
        .filter_map(|append| Some((append, positions.get(&append.lease)?.attempt)))
        .collect();
    let written = shared::db::log::list_written(db.get().await?, &others).await?;
    let leases = others.iter().map(|(append, _)| append.lease);
    good.extend(leases.filter(|lease| written.contains(&lease.job)));
    Ok(good)
}
