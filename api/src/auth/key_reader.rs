//! Looks up presented keys: those of concurrent requests in one statement.
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
    waiting: mpsc::Sender<Waiting>,
}

struct Waiting {
    hash: KeyHash,
    found: oneshot::Sender<db::Result<Option<Presented>>>,
}

impl KeyReader {
    /// The reader's handle, and the task that its owner runs. The task ends when all handles are gone.
    pub(crate) fn new(pool: &Pool) -> (Self, impl Future<Output = ()> + use<>) {
        let (waiting, queue) = mpsc::channel(QUEUE_LENGTH);
        (Self { waiting }, read(DedicatedConnection::of(pool), queue))
    }

    /// The key that a request brought, if it is one of ours and not revoked.
    pub(super) async fn find(&self, secret: &str) -> db::Result<Option<Presented>> {
        let (found, answer) = oneshot::channel();
        let hash = shared::key::hash(secret);
        let sent = self.waiting.send(Waiting { hash, found }).await;
        sent.map_err(|_| db::Error::PoolClosed)?;
        answer.await.map_err(|_| db::Error::PoolClosed)?
    }
}

async fn read(mut db: DedicatedConnection, mut queue: mpsc::Receiver<Waiting>) {
    let mut batch = Vec::with_capacity(MAX_BATCH);
    while queue.recv_many(&mut batch, MAX_BATCH).await > 0 {
        let hashes: Vec<_> = batch.iter().map(|it| it.hash).collect();
        let found = find_all(&mut db, &hashes).await;
        for Waiting {
            hash,
            found: receiver,
        } in batch.drain(..)
        {
            let answer = match &found {
                Ok(found) => Ok(found.get(&hash).cloned()),
                Err(error) if db::is_outage(error) => Err(db::Error::PoolTimedOut),
                Err(error) => Err(db::Error::Protocol(error.to_string())),
            };
            // Who asked may have gone meanwhile.
            let _ = receiver.send(answer);
        }
    }
}

async fn find_all(
    db: &mut DedicatedConnection,
    hashes: &[KeyHash],
) -> db::Result<HashMap<KeyHash, Presented>> {
    match find_once(db, hashes).await {
        // The connection may be older than the server, which has restarted.
        Err(error) if db::is_outage(&error) => {
            db.reset();
            let found = find_once(db, hashes).await;
            if found.is_err() {
                db.reset();
            }
            found
        }
        found => found,
    }
}

async fn find_once(
    db: &mut DedicatedConnection,
    hashes: &[KeyHash],
) -> db::Result<HashMap<KeyHash, Presented>> {
    db::key::list_by_hash(db.get().await?, hashes).await
}
