//! The process of a browser: a program that drives Chromium in the job's sandbox and reads one request per line.
//! Pages may have taken control of it, so its output is not trusted.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use shared::tool::ToolName;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::time::timeout;

use super::kept::{BrowserProcess, KeptBrowser, KeptProcess};
use crate::call::{Call, ToolError};
use crate::context::ToolContext;
use crate::exit_report;
use crate::program;

/// The program that drives Chromium.
const PROGRAM: &str = concat!(
    include_str!("drive.py"),
    "\n\n",
    include_str!("look.py"),
    "\n\n",
    include_str!("steps.py"),
    "\n\n",
    include_str!("crawl.py"),
    "\n\n",
    include_str!("serve.py"),
);
/// The maximum size of a reply. A longer reply means that the browser is broken.
const MAX_REPLY_BYTES: u64 = 32 * 1024 * 1024;
/// The part of a call's time that is reserved for the start of Chromium and the end of the last step.
const RESERVE: Duration = Duration::from_secs(15);

/// A request, on one line.
#[derive(Serialize)]
struct BrowserRequest<'a> {
    tool: &'a str,
    arguments: &'a Value,
    seconds: u64,
}

/// A reply, on one line.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum BrowserReply {
    /// The request failed. The text is for the model.
    Error { error: String },
    /// The result of the request.
    Result { result: Value },
}

/// The reason why a browser did not reply. The text is for the model.
#[derive(Debug, thiserror::Error)]
pub(super) enum BrowserEnd {
    /// The browser had ended before it read the request.
    #[error("the browser ended before it read the request: try again")]
    BeforeReading,
    /// The browser ended, or its reply cannot be parsed.
    #[error(
        "the browser {0}. The next call starts another: cookies and the last page are kept, what was typed is not"
    )]
    Broken(String),
    /// The browser did not reply in time.
    #[error("there was no result after {0} s, and the browser was stopped: do less in one call")]
    TimedOut(u64),
}

impl KeptBrowser {
    /// Sends a request to the job's browser, which is started if it does not run.
    pub(super) async fn ask(
        &self,
        tool: ToolName,
        arguments: &Value,
        call: &Call<'_>,
    ) -> Result<BrowserReply, ToolError> {
        let mut slot = self.slot.lock().await;
        let permits = call.context.command_permits;
        let _permit = permits
            .acquire()
            .await
            .map_err(|error| ToolError::Abort(error.into()))?;
        // Taken out of the slot, because a dropped call leaves the browser in an unknown state.
        let kept = match slot.take() {
            Some(kept) => kept.take().await,
            None => None,
        };
        let is_new = kept.is_none();
        let mut process = match kept {
            Some(process) => process,
            None => BrowserProcess::start(call.context).await?,
        };
        let reply = match process.ask(tool, arguments, call).await {
            // The browser ended between two calls and has not read this request.
            Err(BrowserEnd::BeforeReading) if !is_new => {
                process = BrowserProcess::start(call.context).await?;
                process.ask(tool, arguments, call).await
            }
            reply => reply,
        };
        let reply = reply.map_err(|end| ToolError::Reply(end.to_string()))?;
        *slot = Some(KeptProcess::keep(process));
        Ok(reply)
    }
}

impl BrowserProcess {
    /// Starts the program. Chromium starts with the first request.
    pub(super) async fn start(context: &ToolContext<'_>) -> Result<Self, ToolError> {
        let source = PROGRAM.replace('\'', r"'\''");
        let missing = r#"{"error": "python3 is not installed on this worker"}"#;
        let script = format!(
            "command -v python3 >&- || {{ read -r; echo '{missing}'; exit 1; }}; exec python3 -I -c '{source}'"
        );
        let started = program::start(&script, Vec::new(), context).await;
        let (program, pipes) = started
            .map_err(|trouble| ToolError::Reply(format!("the browser did not start: {trouble}")))?;
        Ok(Self {
            program,
            input: pipes.input,
            output: BufReader::new(pipes.output),
        })
    }

    /// Sends a request and waits for the reply. After an error, the process cannot be used any more.
    pub(super) async fn ask(
        &mut self,
        tool: ToolName,
        arguments: &Value,
        call: &Call<'_>,
    ) -> Result<BrowserReply, BrowserEnd> {
        let request = BrowserRequest {
            tool: tool.as_str(),
            arguments,
            seconds: call.timeout.saturating_sub(RESERVE).as_secs(),
        };
        let mut line = serde_json::to_vec(&request).expect("a request has string keys");
        line.push(b'\n');
        match timeout(call.timeout, self.exchange(&line)).await {
            Ok(reply) => reply,
            Err(_) => Err(BrowserEnd::TimedOut(call.timeout.as_secs())),
        }
    }

    async fn exchange(&mut self, line: &[u8]) -> Result<BrowserReply, BrowserEnd> {
        if self.input.write_all(line).await.is_err() {
            return Err(BrowserEnd::BeforeReading);
        }
        let mut reply = Vec::new();
        let mut bounded = (&mut self.output).take(MAX_REPLY_BYTES);
        let read = bounded.read_until(b'\n', &mut reply).await;
        if read.is_err() || !reply.ends_with(b"\n") {
            let written = exit_report::read(self.program.exit_report.clone()).await;
            let how = written.unwrap_or_else(|| "sent a result that is too large".to_owned());
            return Err(BrowserEnd::Broken(how));
        }
        serde_json::from_slice(&reply)
            .map_err(|_| BrowserEnd::Broken("sent an invalid response".to_owned()))
    }
}
