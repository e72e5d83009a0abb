//! Tools: what a model may call.

mod approval;
mod browser;
mod executor;
mod file;
mod mail;
mod mcp;
mod python;
mod set_output;
mod shell;
mod sql;
mod toolbox;
mod web;

use std::time::Duration;

use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use serde_json::Value;
use shared::event::AssetCreated;
use shared::sandbox::CommandUsage;
use shared::secret::SecretNeed;
use shared::tool::ToolName;

pub(crate) use executor::ExecuteError;
pub(crate) use mcp::McpTool;
pub(crate) use toolbox::Toolbox;
pub(crate) use web::{WebClients, explain};

use crate::attempt::Attempt;
use crate::model::ToolSpec;
use crate::spill::Spill;
use browser::BrowserTool;
use file::{FileEdit, FileList, FileRead, FileWrite};
use mail::{ReadEmail, SendEmail};
use set_output::SetOutput;
use shell::{ExecuteBash, ShellExec};
use sql::SqlQuery;
use web::{HttpRequest, WebFetch};

/// Something that a model may call.
pub(crate) trait Tool: Send + Sync {
    /// How the model sees it.
    fn spec(&self) -> ToolSpec;

    /// How long a call may take.
    fn timeout(&self) -> Duration {
        Duration::from_secs(30)
    }

    /// Whether a call changes nothing, so that several may run at once.
    fn is_read_only(&self) -> bool {
        false
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
    /// Its place among the job's calls, from 1.
    pub(crate) number: u32,
    /// The arguments as the model wrote them.
    pub(crate) input: &'a Value,
    /// How long it may take.
    pub(crate) timeout: Duration,
    /// The bytes of the files that the job has made outputs so far.
    pub(crate) output_bytes: u64,
}

impl Call<'_> {
    /// The arguments, typed.
    fn arguments<T: DeserializeOwned>(&self) -> Result<T, ToolError> {
        T::deserialize(self.input)
            .map_err(|error| ToolError::Reply(format!("the arguments are not valid: {error}")))
    }

    /// How many bytes of a result the model reads.
    fn shown_bytes(&self) -> usize {
        self.attempt.role.max_output_chars
    }

    /// A file for all of a result of which the model reads a part. `what` becomes a part of its name.
    fn spill(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        let redactor = self.attempt.log.redactor();
        Spill::new(self.attempt.workspace.clone(), &name, redactor)
    }

    /// The same for bytes that are no text.
    fn spill_bytes(&self, what: &str) -> Spill {
        let name = format!("{}-{what}", self.number);
        Spill::new(self.attempt.workspace.clone(), &name, None)
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
    /// Whether there was more than what the model reads.
    pub(crate) truncated: bool,
    /// Whether the text is JSON whose parts were cut already: escapes may have doubled it since.
    pub(crate) is_cut_json: bool,
    /// What the command that it ran took.
    pub(crate) usage: Option<CommandUsage>,
    /// A file that it made an output.
    pub(crate) created: Option<AssetCreated>,
}

impl Done {
    /// A result that is nothing but text.
    fn text(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

    /// A failure that the model is told about.
    fn error(text: String) -> Self {
        Self {
            text,
            is_error: true,
            ..Self::default()
        }
    }
}

/// A call that has not run.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ToolError {
    /// A person does not want it.
    #[error("{0}")]
    Denied(String),
    /// The model can do something about it.
    #[error("{0}")]
    Reply(String),
    /// Nobody can, but the attempt goes on: the next call may well work.
    #[error("a tool panicked")]
    Panicked,
    /// Only we can: the attempt ends.
    #[error("a tool failed")]
    Abort(#[source] anyhow::Error),
}

/// The tool of that name, for a job that may send those secrets.
fn open(name: ToolName, secrets: &[SecretNeed]) -> Box<dyn Tool> {
    match name {
        ToolName::ExecuteBash => Box::new(ExecuteBash),
        ToolName::ShellExec => Box::new(ShellExec),
        ToolName::FileRead => Box::new(FileRead),
        ToolName::FileWrite => Box::new(FileWrite),
        ToolName::FileEdit => Box::new(FileEdit),
        ToolName::FileList => Box::new(FileList),
        ToolName::WebFetch => Box::new(WebFetch),
        ToolName::HttpRequest => Box::new(HttpRequest::new(secrets)),
        ToolName::SqlQuery => Box::new(SqlQuery::new(secrets)),
        ToolName::Browser => Box::new(BrowserTool::Open),
        ToolName::TakeScreenshot => Box::new(BrowserTool::Screenshot),
        ToolName::DomSearch => Box::new(BrowserTool::Search),
        ToolName::DomExtract => Box::new(BrowserTool::Extract),
        ToolName::SendEmail => Box::new(SendEmail),
        ToolName::ReadEmail => Box::new(ReadEmail),
        ToolName::SetOutput(kind) => Box::new(SetOutput(kind)),
    }
}

/// Does what blocks, away from the threads that others need.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done),
        // The executor makes a result of it, as of any other.
        Err(error) if error.is_panic() => std::panic::resume_unwind(error.into_panic()),
        Err(error) => Err(ToolError::Abort(error.into())),
    }
}
