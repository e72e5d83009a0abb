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

/// Something that a model may call.
pub trait Tool: Send + Sync {
    /// The tool as the model sees it.
    fn spec(&self) -> ToolSpec;

    /// The timeout of a call.
    fn timeout(&self, _: &ToolContext<'_>) -> Duration {
        Duration::from_secs(30)
    }

    /// Whether a call changes nothing, so that several may run at once.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Runs a call. Dropping the future ends everything that the call started.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>>;
}

/// One call.
pub struct Call<'a> {
    /// The job's attempt that makes it.
    pub context: &'a ToolContext<'a>,
    /// Its id in the transcript.
    pub id: &'a str,
    /// Its place among the job's calls, from 1.
    pub number: u32,
    /// The arguments as the model wrote them.
    pub input: &'a Value,
    /// Its timeout.
    pub timeout: Duration,
    /// The bytes of the files that the job has made outputs so far.
    pub output_bytes: u64,
}

impl Call<'_> {
    /// The arguments, typed.
    pub(crate) fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(self.input)
            .map_err(|error| ToolError::Reply(format!("the arguments are not valid: {error}")))
    }

    /// The most bytes of a result that the model reads.
    pub(crate) fn shown_bytes(&self) -> usize {
        self.context.max_output_bytes
    }

    /// A file for all of a result of which the model reads a part. `what` becomes a part of its name.
    pub(crate) fn spill(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        let redactor = self.context.events.redactor();
        Spill::new(self.context.workspace.clone(), &name, redactor)
    }

    /// The same for bytes that are no text.
    pub(crate) fn spill_bytes(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        Spill::new(self.context.workspace.clone(), &name, None)
    }
}

/// A call that has run, with or without success.
#[derive(Default)]
pub struct Done {
    /// What the model reads.
    pub text: String,
    /// Whether the model should take it for a failure.
    pub is_error: bool,
    /// Whether its time ran out.
    pub timed_out: bool,
    /// The exit code of the command that it ran.
    pub exit_code: Option<i32>,
    /// Whether there was more than what the model reads.
    pub truncated: bool,
    /// Whether the text is JSON whose parts were cut already: escapes may have doubled it since.
    pub is_cut_json: bool,
    /// What the command that it ran took.
    pub usage: Option<CommandUsage>,
    /// A file that it made an output.
    pub created: Option<AssetCreated>,
    /// Images that the model looks at, as [`shown_image::encode`](worker_model::shown_image::encode) makes them.
    pub images: Vec<Media>,
}

impl Done {
    /// A result that is nothing but text.
    pub(crate) fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// A failure that the model is told about.
    pub fn error(text: String) -> Self {
        Self {
            text,
            is_error: true,
            ..Self::default()
        }
    }
}

/// A call that has not run.
#[derive(Debug, thiserror::Error)]
pub enum ToolError {
    /// A person denied it, or it was not approved.
    #[error("{0}")]
    Denied(String),
    /// An error that the model can fix.
    #[error("{0}")]
    Reply(String),
    /// A bug in the tool. The attempt goes on, because the next call may work.
    #[error("a tool panicked")]
    Panicked,
    /// An internal error: the attempt ends.
    #[error("a tool failed")]
    Abort(#[source] anyhow::Error),
}

/// Runs blocking work on a thread for that.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        // The executor makes a result of it, as of any other.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::Abort(error.into())),
    }
}
