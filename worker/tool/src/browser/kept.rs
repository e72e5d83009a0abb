//! The browser of a job, kept from one call to the next.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use shared::tool::ToolName;
use tokio::sync::Mutex;
use tokio_util::task::AbortOnDropHandle;

use super::process::{BrowserEnd, BrowserProcess, BrowserReply};
use crate::call::{Call, ToolError};

/// A browser that is not used for so long ends. The next call starts another, which knows the last page and the cookies.
const IDLE: Duration = Duration::from_secs(60);

/// The browser of a job. Nothing of it is left when this is dropped.
#[derive(Default)]
pub struct KeptBrowser {
    slot: Mutex<Option<KeptProcess>>,
}

/// A browser between two calls.
struct KeptProcess {
    process: Arc<Mutex<Option<BrowserProcess>>>,
    _ending: AbortOnDropHandle<()>,
}

impl KeptBrowser {
    /// Has the job's browser do something; it is started if it does not run.
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
        // Taken out: what a dropped call leaves behind is in no known state.
        let kept = match slot.take() {
            Some(kept) => kept.process.lock().await.take(),
            None => None,
        };
        let (mut process, is_new) = match kept {
            Some(process) if process.runs() => (process, false),
            _ => (BrowserProcess::start(call.context).await?, true),
        };
        let reply = match process.ask(tool, arguments, call).await {
            // It ended between two calls, and has not read this one.
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

impl KeptProcess {
    fn keep(process: BrowserProcess) -> Self {
        let process = Arc::new(Mutex::new(Some(process)));
        let kept = process.clone();
        let ending = tokio::spawn(async move {
            tokio::time::sleep(IDLE).await;
            drop(kept.lock().await.take());
        });
        Self {
            process,
            _ending: AbortOnDropHandle::new(ending),
        }
    }
}
