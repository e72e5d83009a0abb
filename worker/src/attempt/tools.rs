//! An attempt's implementations of the loop's ports to tools and workspace.

use std::sync::Arc;

use futures_util::future::{BoxFuture, FutureExt};
use shared::event::EventData;
use shared::id::JobId;
use shared::message::ToolCall;
use worker_model::ToolSpec;
use worker_tool::EventSink;
use worker_workspace::{Snapshots, Workspace};

use crate::loop_error::LoopError;
use crate::ports::{LoopTools, WorkspaceSaver};
use crate::toolbox::{ToolRunner, Toolbox};
use crate::transcript::Transcript;

/// The tools of an attempt.
pub(super) struct AttemptTools<'a> {
    pub(super) tools: &'a Toolbox,
    pub(super) runner: ToolRunner<'a>,
}

impl LoopTools for AttemptTools<'_> {
    fn specs(&self) -> Vec<Arc<ToolSpec>> {
        self.tools.specs()
    }

    fn unapproved(&self, transcript: &Transcript) -> Vec<ToolCall> {
        let redactor = self.runner.context.events.redactor();
        self.tools.unapproved(transcript, redactor.as_deref())
    }

    fn run_next<'b>(
        &'b self,
        transcript: &'b mut Transcript,
    ) -> BoxFuture<'b, Result<(), LoopError>> {
        self.runner.run_next(self.tools, transcript).boxed()
    }
}

/// The snapshots of an attempt's workspace.
pub(super) struct AttemptSnapshots<'a> {
    pub(super) job: JobId,
    pub(super) workspace: &'a Arc<Workspace>,
    pub(super) snapshots: &'a mut Snapshots,
    pub(super) log: &'a dyn EventSink,
}

impl WorkspaceSaver for AttemptSnapshots<'_> {
    /// A failure does not end the attempt. The next attempt tells the model that files may be missing.
    fn save(&mut self) -> BoxFuture<'_, bool> {
        Box::pin(async {
            match self.snapshots.save(self.workspace).await {
                Ok(Some(saved)) => self.log.append(EventData::WorkspaceSaved(saved)).await,
                Ok(None) => {}
                Err(error) => {
                    let error = format!("{error:#}");
                    let error = self.log.redact(&error);
                    tracing::warn!(job = %self.job, %error, "a workspace could not be saved");
                    return false;
                }
            }
            true
        })
    }
}
