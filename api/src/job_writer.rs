//! Group commit of jobs: those of concurrent requests are inserted in one statement.
//!
//! There is no timer. While one batch is on its way to the database the next one grows; a job that comes alone is
//! written alone, at once.

use chrono::{DateTime, Utc};
use shared::db::job::NewJobRow;
use shared::db::{self, DedicatedConnection, Pool};
use shared::job::Job;
use tokio::sync::{mpsc, oneshot};

/// Jobs that wait for the writer. At this number, `insert` waits for room.
const QUEUE_LENGTH: usize = 1024;
/// Jobs of one statement.
const MAX_BATCH: usize = 100;

/// Inserts single jobs, many of them in one statement.
#[derive(Clone)]
pub struct JobWriter {
    waiting: mpsc::Sender<Waiting>,
    probes: mpsc::Sender<Probe>,
}

/// Asks the writer whether it could write.
type Probe = oneshot::Sender<db::Result<()>>;

struct Waiting {
    job: NewJobRow,
    accepted: oneshot::Sender<db::Result<Job>>,
}

impl JobWriter {
    /// The writer's handle, and the task that its owner runs. The task ends when all handles are gone.
    pub fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (waiting, queue) = mpsc::channel(QUEUE_LENGTH);
        let (probes, probed) = mpsc::channel(1);
        let writing = write(DedicatedConnection::of(pool), queue, probed);
        (Self { waiting, probes }, writing)
    }

    /// Inserts a job that needs no other write; it is committed on return. Errors are those of
    /// `db::job::insert`.
    pub async fn insert(&self, job: NewJobRow) -> db::Result<Job> {
        let (accepted, answer) = oneshot::channel();
        let sent = self.waiting.send(Waiting { job, accepted }).await;
        sent.map_err(|_| db::Error::PoolClosed)?;
        answer.await.map_err(|_| db::Error::PoolClosed)?
    }

    /// Returns when the writer could accept a job, or with why it cannot. There is no answer while it waits for the
    /// database.
    pub async fn probe(&self) -> db::Result<()> {
        let (probe, answer) = oneshot::channel();
        let sent = self.probes.send(probe).await;
        sent.map_err(|_| db::Error::PoolClosed)?;
        answer.await.map_err(|_| db::Error::PoolClosed)?
    }
}

async fn write(
    mut db: DedicatedConnection,
    mut queue: mpsc::Receiver<Waiting>,
    mut probes: mpsc::Receiver<Probe>,
) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    loop {
        tokio::select! {
            received = queue.recv_many(&mut batch, MAX_BATCH) => {
                if received == 0 {
                    break;
                }
            }
            Some(probe) = probes.recv() => {
                let answer = ping(&mut db).await;
                // Who asked may have gone meanwhile.
                let _ = probe.send(answer);
                continue;
            }
        }
        let (jobs, reply_senders): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|it| (it.job, it.accepted)).unzip();
        for (answer, reply_sender) in accept(&mut db, jobs).await.into_iter().zip(reply_senders) {
            // Who asked may have gone meanwhile.
            let _ = reply_sender.send(answer);
        }
    }
}

/// What became of each of them.
async fn accept(db: &mut DedicatedConnection, jobs: Vec<NewJobRow>) -> Vec<db::Result<Job>> {
    match insert(db, &jobs).await {
        Ok(created_at) => jobs
            .into_iter()
            .map(|job| Ok(job.accepted(created_at)))
            .collect(),
        Err(error) if jobs.len() == 1 => vec![Err(error)],
        Err(error) if db::is_outage(&error) => {
            let outage = |_| Err(db::Error::PoolTimedOut);
            jobs.iter().map(outage).collect()
        }
        // There is something wrong with one of them, for which the others cannot help.
        Err(_) => {
            let mut answers = Vec::with_capacity(jobs.len());
            for job in jobs {
                let inserted = insert(db, std::slice::from_ref(&job)).await;
                answers.push(inserted.map(|created_at| job.accepted(created_at)));
            }
            answers
        }
    }
}

async fn insert(db: &mut DedicatedConnection, jobs: &[NewJobRow]) -> db::Result<DateTime<Utc>> {
    let inserted = db::job::insert(db.get().await?, false, jobs).await;
    if inserted.is_err() {
        db.reset();
    }
    inserted
}

async fn ping(db: &mut DedicatedConnection) -> db::Result<()> {
    let pinged = db::ping(db.get().await?).await;
    if pinged.is_err() {
        db.reset();
    }
    pinged
}
