//! Accounts at model providers: quota and circuit breakers, shared with all other workers.

mod account;
mod guarded_model;
mod schedule;
mod token_estimate;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use shared::db::Pool;
use shared::id::WorkerId;
use shared::model_name::ModelName;
use shared::provider::Providers;
use tokio::time::sleep;

use crate::telemetry::ProviderMeters;
pub(crate) use account::ProviderAccount;
pub(crate) use guarded_model::GuardedModel;

/// The interval at which the slices of calls in progress are renewed.
const RENEW_INTERVAL: Duration = Duration::from_secs(1);

/// The accounts that this worker uses.
pub(crate) struct ProviderAccounts {
    pool: Pool,
    /// The id under which quota is leased. It is not the id of the worker's registration, which
    /// may change while calls run.
    lessee: WorkerId,
    meters: ProviderMeters,
    by_id: Mutex<HashMap<String, Arc<ProviderAccount>>>,
}

impl ProviderAccounts {
    pub(crate) fn new(pool: Pool, meters: ProviderMeters) -> Self {
        Self {
            pool,
            lessee: WorkerId::new(),
            meters,
            by_id: Mutex::default(),
        }
    }

    /// Returns the account of a model's provider, or `None` for the provider that needs no network.
    pub(crate) fn of(
        &self,
        model: &ModelName,
        providers: &Providers,
    ) -> Option<Arc<ProviderAccount>> {
        let provider = providers.find(model).ok().flatten()?;
        let id = provider.account_id(model.provider());
        let mut by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
        let account = by_id.entry(id.clone()).or_insert_with(|| {
            let account = ProviderAccount::new(
                id,
                model.provider().to_owned(),
                provider,
                self.pool.clone(),
                self.lessee,
                self.meters.clone(),
            );
            Arc::new(account)
        });
        Some(account.clone())
    }

    /// Renews the slices of calls in progress until it is dropped.
    pub(crate) async fn renew(&self) {
        loop {
            sleep(RENEW_INTERVAL).await;
            let accounts: Vec<_> = {
                let by_id = self.by_id.lock().unwrap_or_else(PoisonError::into_inner);
                by_id.values().cloned().collect()
            };
            for account in accounts {
                account.renew().await;
            }
        }
    }
}
