//! Tools: what a model may call.

mod execute_bash;
mod executor;
mod set_output;

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::event::AssetCreated;
use shared::job::OutputKind;
use shared::sandbox::CommandUsage;

pub(crate) use execute_bash::ExecuteBash;
pub(crate) use executor::{ExecuteError, Toolbox};
pub(crate) use set_output::SetOutput;

use crate::attempt::Attempt;
use crate::model::ToolSpec;

/// Something that a model may call.
pub(crate) trait Tool: Send + Sync {
    /// How the model sees it.
    fn spec(&self) -> ToolSpec;

    /// How long a call may take.
    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Does it. Dropping the future ends whatever it began.
    fn call<'a>(&'a self, call: Call<'a>) -> BoxFuture<'a, Result<Done, ToolError>>;
}

/// One call.
pub(crate) struct Call<'a> {
    /// The job's attempt that makes it.
    pub(crate) attempt: &'a Attempt<'a>,
    /// Its id in the transcript.
    pub(crate) id: &'a str,
    /// The arguments as the model wrote them.
    pub(crate) input: &'a Value,
    /// How long it may take.
    pub(crate) timeout: Duration,
}

impl Call<'_> {
    /// The arguments, typed.
    fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(self.input)
            .map_err(|error| ToolError::Reply(format!("the arguments are not valid: {error}")))
    }
}

/// A call that has run, with or without success.
#[derive(Default)]
pub(crate) struct Done {
    /// What the model reads.
    pub(crate) text: String,
    /// Whether the model should take it for a failure.
    pub(crate) is_error: bool,
    /// Whether its time ran out.
    pub(crate) timed_out: bool,
    /// The exit code of the command that it ran.
    pub(crate) exit_code: Option<i32>,
    /// Whether the output was larger than what the model reads.
    pub(crate) truncated: bool,
    /// What the command that it ran took.
    pub(crate) usage: Option<CommandUsage>,
    /// A file that it made an output.
    pub(crate) created: Option<AssetCreated>,
}

/// A call that has not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// The model can do something about it.
    #[error("{0}")]
    Reply(String),
    /// Only we can: the attempt ends.
    #[error("a tool failed")]
    Abort(#[source] anyhow::Error),
}

/// The tool of that canonical name.
pub(crate) fn find(name: &str) -> Option<Box<dyn Tool>> {
    let kinds = [
        OutputKind::Image,
        OutputKind::Audio,
        OutputKind::Video,
        OutputKind::Document,
        OutputKind::Html,
    ];
    match name {
        "execute_bash" => Some(Box::new(ExecuteBash)),
        _ => {
            let kind = kinds
                .into_iter()
                .find(|kind| name.strip_prefix("set_output_") == Some(kind.as_str()))?;
            Some(Box::new(SetOutput(kind)))
        }
    }
}
