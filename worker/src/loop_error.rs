//! The reason why a loop was interrupted before its end.

use shared::db;
use shared::job::JobError;
use shared::message::ToolCall;
use worker_model::ModelError;
use worker_tool::LeaseLost;

use crate::budget::BudgetError;

/// The reason why a loop was interrupted before its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopError {
    /// A tool failed in a way that the model cannot fix.
    #[error("a tool failed")]
    Tool(#[source] anyhow::Error),
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the database failed")]
    Database(#[from] db::Error),
    /// The job cannot continue, and another attempt would not help.
    #[error(transparent)]
    Job(#[from] JobError),
    /// These calls wait for approval. The transcript ends before the first of them.
    #[error("calls wait for approval")]
    AwaitsApproval(Vec<ToolCall>),
    /// The workspace could not be saved, which is required before a job waits for approval.
    #[error("the workspace could not be saved")]
    Unsaved,
    /// The worker is draining. The transcript ends at a boundary.
    #[error("the worker is draining")]
    Drained,
}

impl From<BudgetError> for LoopError {
    fn from(error: BudgetError) -> Self {
        match error {
            BudgetError::LeaseLost(error) => error.into(),
            BudgetError::Database(error) => error.into(),
        }
    }
}
