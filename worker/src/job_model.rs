//! The model that a job reports: the one that answered last.

use std::sync::{Mutex, PoisonError};

use shared::db::log::Lease;
use shared::db::{self, Pool};
use shared::model_name::ModelName;

/// The model that a job reports.
pub(crate) struct JobModel<'a> {
    stored: Option<(&'a Pool, Lease)>,
    current: Mutex<ModelName>,
}

impl<'a> JobModel<'a> {
    /// Creates the model of a job. A change is stored, unless there is no database.
    pub(crate) fn new(stored: Option<(&'a Pool, Lease)>, current: ModelName) -> Self {
        Self {
            stored,
            current: Mutex::new(current),
        }
    }

    /// Returns the model that answered last.
    pub(crate) fn current(&self) -> ModelName {
        let current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        current.clone()
    }

    /// Records the model of a reply.
    pub(crate) async fn answered(&self, model: &ModelName) {
        {
            let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
            if *current == *model {
                return;
            }
            current.clone_from(model);
        }
        let Some((pool, lease)) = self.stored else {
            return;
        };
        if let Err(error) = db::job::set_model(pool, lease, model).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %lease.job, error, "the model of a job could not be stored");
        }
    }
}
