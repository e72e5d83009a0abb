//! The ports of the loop: its model, tools, log, workspace and budget.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use shared::db;
use shared::event::EventKind;
use shared::id::JobId;
use shared::limits::Limits;
use shared::message::ToolCall;
use shared::telemetry::trace::Span;
use tokio_util::sync::CancellationToken;
use worker_model::{LanguageModel, ToolSpec};
use worker_tool::EventSink;

use crate::budget::Budget;
use crate::job_model::JobModel;
use crate::loop_error::LoopError;
use crate::telemetry::{CalledModel, WorkerMeters};
use crate::transcript::{Measured, Transcript};
use crate::wrap_up::WrapUp;

/// The dependencies of the loop. Tests script those that are traits.
pub(crate) struct LoopPorts<'a> {
    pub(crate) job: JobId,
    /// The models, and their clients in the same order. There is at least one.
    pub(crate) models: &'a [CalledModel<'a>],
    pub(crate) clients: &'a [&'a dyn LanguageModel],
    /// The model that the job reports.
    pub(crate) job_model: &'a JobModel<'a>,
    pub(crate) tools: &'a dyn LoopTools,
    pub(crate) log: &'a dyn EventSink,
    /// The index of earlier replies in the log, for compaction.
    pub(crate) replies: &'a dyn ReplyIndex,
    pub(crate) workspace: &'a mut dyn WorkspaceSaver,
    pub(crate) budget: &'a Budget<'a>,
    pub(crate) limits: Limits,
    /// The notes to the model before the job reaches a limit.
    pub(crate) wrap_up: WrapUp,
    /// The context window of the model in tokens, if it is known.
    pub(crate) context_window: Option<u32>,
    /// Cancelled when the worker is draining.
    pub(crate) drain: &'a CancellationToken,
    pub(crate) span: &'a Span,
    pub(crate) meters: &'a WorkerMeters,
}

impl LoopPorts<'_> {
    /// Returns the part of the transcript that the provider has counted. Models count differently, so there is none
    /// if several models may answer.
    pub(crate) fn measured(&self, transcript: &Transcript) -> Option<Measured> {
        match self.models {
            [only] => transcript.measured(only.name),
            _ => None,
        }
    }

    /// Fails if the worker is draining. Called at each point at which another worker could take over.
    pub(crate) fn check_boundary(&self) -> Result<(), LoopError> {
        if self.drain.is_cancelled() {
            Err(LoopError::Drained)
        } else {
            Ok(())
        }
    }
}

/// The tools that the loop can run.
pub(crate) trait LoopTools: Sync {
    /// Returns the tools as the model sees them.
    fn specs(&self) -> Vec<Arc<ToolSpec>>;

    /// Returns the open calls whose approval must be requested. Empty if the next call can run.
    fn unapproved(&self, transcript: &Transcript) -> Vec<ToolCall>;

    /// Runs the next call, and the following calls that can run concurrently. Each call gets exactly one result.
    fn run_next<'b>(
        &'b self,
        transcript: &'b mut Transcript,
    ) -> BoxFuture<'b, Result<(), LoopError>>;
}

/// The storage of workspace snapshots.
pub(crate) trait WorkspaceSaver: Send + Sync {
    /// Saves the workspace. Returns whether that succeeded.
    fn save(&mut self) -> BoxFuture<'_, bool>;
}

/// The index of the replies in the log.
pub(crate) trait ReplyIndex: Sync {
    /// Returns the sequence number of a job's reply, counted from the last reply, which is 1.
    fn seq_from_end(&self, job: JobId, from_end: usize) -> BoxFuture<'_, db::Result<Option<i64>>>;
}

impl ReplyIndex for db::Pool {
    fn seq_from_end(&self, job: JobId, from_end: usize) -> BoxFuture<'_, db::Result<Option<i64>>> {
        let from_end = i64::try_from(from_end).unwrap_or(i64::MAX);
        Box::pin(db::event::get_seq_from_end(
            self,
            job,
            EventKind::MessageCompleted,
            from_end,
        ))
    }
}
