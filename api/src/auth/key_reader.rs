//! The lookup of presented keys: those of concurrent requests in one statement.
//!
//! There is no timer. While one statement is on its way to the database the next batch grows; a request that comes
//! alone is looked up alone, at once. Nothing is kept, so a key that was revoked is refused from then on.

use std::collections::HashMap;

use shared::db::key::Presented;
use shared::db::{self, DedicatedConnection, Pool};
use shared::key::KeyHash;
use tokio::sync::{mpsc, oneshot};

/// Requests that wait for the reader. At this number, `find` waits for room.
const QUEUE_LENGTH: usize = 1024;
/// Keys of one statement.
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
    /// The reader's handle, and the task that its owner runs. The task ends when all handles are gone.
    pub(crate) fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (lookups, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { lookups }, read(DedicatedConnection::of(pool), queue))
    }

    /// The key that a request brought, if it is one of ours and not revoked.
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
            // Who asked may have gone meanwhile.
            let _ = answer.send(found);
        }
    }
}

/// What is found for each of them.
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
        // There is something wrong with one of them, for which the others cannot help.
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
        // The connection may be older than the server, which has restarted.
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
