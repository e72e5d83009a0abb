//! The interface of a tool: a call, its context, and its result.

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::event::AssetCreated;
use shared::sandbox::CommandUsage;
use worker_model::{Media, ToolSpec};
use worker_workspace::Spill;

use crate::context::ToolContext;

/// A tool that a model may call.
pub trait Tool: Send + Sync {
    /// Returns the tool as the model sees it.
    fn spec(&self) -> ToolSpec;

    /// Returns the timeout of a call.
    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        Duration::from_secs(30)
    }

    /// Whether a call changes nothing, so that several calls can run concurrently.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Runs a call. Dropping the future ends everything that the call started.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>>;
}

/// A call of a tool.
pub struct Call<'a> {
    /// The context of the attempt that makes the call.
    pub context: &'a ToolContext<'a>,
    /// The id of the call in the transcript.
    pub id: &'a str,
    /// The number of the call in its job, from 1.
    pub number: u32,
    /// The arguments as the model wrote them.
    pub input: &'a Value,
    /// The timeout of the call.
    pub timeout: Duration,
    /// The number of bytes of all files that the job has made outputs so far.
    pub output_bytes: u64,
}

impl Call<'_> {
    /// Returns the arguments as a typed value.
    pub(crate) fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(self.input)
            .map_err(|error| ToolError::Reply(format!("the arguments are not valid: {error}")))
    }

    /// Returns the maximum number of bytes of a result that the model reads.
    pub(crate) fn shown_bytes(&self) -> usize {
        self.context.max_output_bytes
    }

    /// Creates a file for a whole result of which the model reads only a part. `what` becomes
    /// a part of the file's name.
    pub(crate) fn spill(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        let redactor = self.context.events.redactor();
        Spill::new(self.context.workspace.clone(), &name, redactor)
    }

    /// Creates the same file for bytes that are not text.
    pub(crate) fn spill_bytes(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        Spill::new(self.context.workspace.clone(), &name, None)
    }
}

/// The result of a call that has run, with or without success.
#[derive(Default)]
pub struct Done {
    /// The text for the model.
    pub text: String,
    /// Whether the model should treat the result as a failure.
    pub is_error: bool,
    /// Whether the call timed out.
    pub timed_out: bool,
    /// The exit code of the command.
    pub exit_code: Option<i32>,
    /// Whether the model reads only a part of the result.
    pub truncated: bool,
    /// Whether the text is JSON whose parts were already cut. Escapes may have doubled its size since.
    pub is_cut_json: bool,
    /// The resource usage of the command.
    pub usage: Option<CommandUsage>,
    /// The file that became an output.
    pub created: Option<AssetCreated>,
    /// Images for the model, in the form that [`shown_image::encode`](worker_model::shown_image::encode) returns.
    pub images: Vec<Media>,
}

impl Done {
    /// Creates a result that consists of text.
    pub(crate) fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// Creates a failure whose text the model reads.
    pub fn error(text: String) -> Self {
        Self {
            text,
            is_error: true,
            ..Self::default()
        }
    }
}

/// The error of a call that has no result.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// The call was denied or not approved.
    #[error("{0}")]
    Denied(String),
    /// An error that the model can fix.
    #[error("{0}")]
    Reply(String),
    /// A bug in the tool. The attempt continues, because the next call may work.
    #[error("a tool panicked")]
    Panicked,
    /// An internal error. The attempt ends.
    #[error("a tool failed")]
    Abort(#[source] anyhow::Error),
}

/// Runs blocking work on a thread that may block.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        // The executor turns a panic into a result.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::Abort(error.into())),
    }
}
