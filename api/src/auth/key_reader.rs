//! The API key lookup, which batches the keys of concurrent requests into one statement.
//!
//! There is no timer. While one statement runs, the next batch collects. A single request is looked up immediately.
//! Keys are not cached, so a revoked key is rejected from the next lookup on.

use std::collections::HashMap;

use shared::db::key::Presented;
use shared::db::{self, DedicatedConnection, Pool};
use shared::key::KeyHash;
use tokio::sync::{mpsc, oneshot};

/// The maximum number of requests that wait for the reader. When it is reached, `find` waits for space.
const QUEUE_LENGTH: usize = 1024;
/// The maximum number of keys per statement.
const MAX_BATCH: usize = 100;

/// Looks up the keys of requests.
#[derive(Clone)]
pub(crate) struct KeyReader {
    lookups: mpsc::Sender<KeyLookup>,
}

struct KeyLookup {
    hash: KeyHash,
    answer: oneshot::Sender<db::Result<Option<Presented>>>,
}

impl KeyReader {
    /// Returns a handle to the reader, and the task that the caller must run. The task ends when all handles are
    /// dropped.
    pub(crate) fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (lookups, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { lookups }, read(DedicatedConnection::of(pool), queue))
    }

    /// Returns the key with this secret, unless it is unknown or revoked.
    pub(super) async fn find(&self, secret: &str) -> db::Result<Option<Presented>> {
        let (answer, found) = oneshot::channel();
        let hash = shared::key::hash(secret);
        let sent = self.lookups.send(KeyLookup { hash, answer }).await;
        sent.map_err(|_| db::Error::PoolClosed)?;
        found.await.map_err(|_| db::Error::PoolClosed)?
    }
}

async fn read(mut db: DedicatedConnection, mut queue: mpsc::Receiver<KeyLookup>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let (hashes, answers): (Vec<_>, Vec<_>) =
            batch.drain(..).map(|it| (it.hash, it.answer)).unzip();
        for (answer, found) in answers.into_iter().zip(find_each(&mut db, &hashes).await) {
            // The caller may have stopped waiting.
            let _ = answer.send(found);
        }
    }
}

/// Returns the result for each hash.
async fn find_each(
    db: &mut DedicatedConnection,
    hashes: &[KeyHash],
) -> Vec<db::Result<Option<Presented>>> {
    match find(db, hashes).await {
        Ok(found) => hashes
            .iter()
            .map(|hash| Ok(found.get(hash).cloned()))
            .collect(),
        Err(error) if hashes.len() == 1 => vec![Err(error)],
        Err(error) if db::is_outage(&error) => {
            let outage = |_| Err(db::Error::PoolTimedOut);
            hashes.iter().map(outage).collect()
        }
        // One of the hashes causes the error. Each is looked up alone, so that the others succeed.
        Err(_) => {
            let mut each = Vec::with_capacity(hashes.len());
            for hash in hashes {
                let found = find(db, std::slice::from_ref(hash)).await;
                each.push(found.map(|found| found.get(hash).cloned()));
            }
            each
        }
    }
}

async fn find(
    db: &mut DedicatedConnection,
    hashes: &[KeyHash],
) -> db::Result<HashMap<KeyHash, Presented>> {
    match find_once(db, hashes).await {
        // The connection may be stale because the database server restarted.
        Err(error) if db::is_outage(&error) => find_once(db, hashes).await,
        found => found,
    }
}

async fn find_once(
    db: &mut DedicatedConnection,
    hashes: &[KeyHash],
) -> db::Result<HashMap<KeyHash, Presented>> {
    let found = db::key::list_by_hash(db.get().await?, hashes).await;
    if found.is_err() {
        db.reset();
    }
    found
}
