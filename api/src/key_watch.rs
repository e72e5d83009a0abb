//! The revocation check for the API keys of open streams. A stream ends when its key is revoked.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use shared::db::{self, Pool};
use shared::id::KeyId;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// The interval of the check, and so the longest that a stream continues after its key is revoked.
const INTERVAL: Duration = Duration::from_secs(5);

/// Checks the API keys of all open streams with one query.
#[derive(Clone, Default)]
pub(crate) struct KeyWatch {
    keys: Arc<Mutex<HashMap<KeyId, Weak<CancellationToken>>>>,
}

impl KeyWatch {
    /// Returns a token that is cancelled when the key is revoked. The key is watched until all its tokens are dropped.
    pub(crate) fn watch(&self, key: KeyId) -> Arc<CancellationToken> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = keys.entry(key).or_default();
        watched.upgrade().unwrap_or_else(|| {
            let revoked = Arc::default();
            *watched = Arc::downgrade(&revoked);
            revoked
        })
    }

    /// Checks the keys until it is dropped.
    pub(crate) async fn run(self, pool: Pool) {
        let mut looks = interval(INTERVAL);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            looks.tick().await;
            let keys = self.watched();
            if keys.is_empty() {
                continue;
            }
            let ids: Vec<_> = keys.keys().copied().collect();
            match db::key::list_revoked(&pool, &ids).await {
                Ok(revoked) => revoked.iter().for_each(|key| keys[key].cancel()),
                Err(error) => tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "cannot look up the keys of open streams"
                ),
            }
        }
    }

    /// Returns the keys that still have open streams.
    fn watched(&self) -> HashMap<KeyId, Arc<CancellationToken>> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        keys.retain(|_, revoked| revoked.strong_count() > 0);
        let watched = keys.iter();
        watched
            .filter_map(|(key, revoked)| Some((*key, revoked.upgrade()?)))
            .collect()
    }
}
