//! Group commit of jobs: the jobs of concurrent requests are inserted in one statement.
//!
//! There is no timer. While one batch is written, the next one collects. A single job is written immediately.

use chrono::{DateTime, Utc};
use shared::db::job::NewJobRow;
use shared::db::{self, DedicatedConnection, Pool};
use shared::job::Job;
use tokio::sync::{mpsc, oneshot};

/// The maximum number of jobs that wait for the writer. When it is reached, `insert` waits for space.
const QUEUE_LENGTH: usize = 1024;
/// The maximum number of jobs per statement.
const MAX_BATCH: usize = 100;

/// Inserts single jobs, batched into one statement.
#[derive(Clone)]
pub struct JobWriter {
    waiting: mpsc::Sender<Waiting>,
    probes: mpsc::Sender<Probe>,
}

/// A request to check whether the writer can write.
type Probe = oneshot::Sender<db::Result<()>>;

struct Waiting {
    job: NewJobRow,
    accepted: oneshot::Sender<db::Result<Job>>,
}

impl JobWriter {
    /// Returns a handle to the writer, and the task that the caller must run. The task ends when all handles are
    /// dropped.
    pub fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (waiting, queue) = mpsc::channel(QUEUE_LENGTH);
        let (probes, probed) = mpsc::channel(1);
        let writing = write(DedicatedConnection::of(pool), queue, probed);
        (Self { waiting, probes }, writing)
    }

    /// Inserts a job that needs no other write. The job is committed on return. The errors are those of
    /// `db::job::insert`.
    pub async fn insert(&self, job: NewJobRow) -> db::Result<Job> {
        let (accepted, answer) = oneshot::channel();
        let sent = self.waiting.send(Waiting { job, accepted }).await;
        sent.map_err(|_| db::Error::PoolClosed)?;
        answer.await.map_err(|_| db::Error::PoolClosed)?
    }

    /// Checks whether the writer can accept a job. Does not return while the writer waits for the database.
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
                // The caller may have stopped waiting.
                let _ = probe.send(answer);
                continue;
            }
        }
        let (jobs, reply_senders): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|it| (it.job, it.accepted)).unzip();
        for (answer, reply_sender) in accept(&mut db, jobs).await.into_iter().zip(reply_senders) {
            // The caller may have stopped waiting.
            let _ = reply_sender.send(answer);
        }
    }
}

/// Inserts the jobs, and returns the result for each.
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
        // One of the jobs causes the error. Each is inserted alone, so that the others succeed.
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
