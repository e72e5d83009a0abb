//! Execution of tool calls. Each call gets exactly one result, in the order of the calls.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use shared::event::{EventData, ToolCompleted, ToolOutcome, ToolStarted};
use shared::hook::Rule;
use shared::id::AssetId;
use shared::message::ToolCall;
use shared::telemetry::trace::Span;
use tokio::time::timeout;

use worker_tool::{Call, Done, ToolContext, ToolError};
use worker_workspace::{HeadTailBuffer, Spill};

use super::Toolbox;
use super::approval::Permission;
use crate::loop_error::LoopError;
use crate::telemetry::{self, WorkerMeters};
use crate::transcript::Transcript;

/// The maximum number of concurrent calls of one job. Only calls that change nothing run concurrently.
const MAX_PARALLEL: usize = 8;
/// The time after its limit in which a tool can end by itself and return its result so far.
const GRACE: Duration = Duration::from_secs(5);

/// The runner of the calls of one attempt.
pub(crate) struct ToolRunner<'a> {
    pub(crate) context: ToolContext<'a>,
    /// The deadline of the job.
    pub(crate) deadline: Instant,
    pub(crate) span: &'a Span,
    pub(crate) meters: &'a WorkerMeters,
}

/// The number of calls and the size of the outputs before a call.
#[derive(Clone, Copy)]
struct Preceding {
    /// The number of the call in its job, from 1.
    number: u32,
    output_bytes: u64,
}

/// A call with its result.
struct FinishedCall {
    /// The label of its tool in metrics and spans.
    tool: &'static str,
    done: Done,
    outcome: ToolOutcome,
    took: Duration,
}

impl ToolRunner<'_> {
    /// Runs the transcript's next call, and the following calls if none of them changes anything. Each
    /// call gets exactly one result.
    pub(crate) async fn run_next(
        &self,
        tools: &Toolbox,
        transcript: &mut Transcript,
    ) -> Result<(), LoopError> {
        let calls = next_calls(tools, transcript);
        let Some((last, before)) = calls.split_last() else {
            return Ok(());
        };
        // Committed before any call runs, so that the next attempt knows that the calls may have run.
        for call in before {
            self.context.events.append(started(call)).await;
        }
        self.context.events.commit(started(last)).await?;
        let number = transcript.progress.usage.tool_calls + 1;
        let output_bytes = transcript.progress.output_bytes;
        let mut results = FuturesOrdered::new();
        for (call, number) in calls.iter().zip(number..) {
            let permission = tools.permission(call, transcript.decision(&call.call_id));
            let preceding = Preceding {
                number,
                output_bytes,
            };
            results.push_back(self.run(tools, call, permission, preceding));
        }
        for call in &calls {
            let Some(ran) = results.next().await else {
                break;
            };
            let ran = ran?;
            if tools.rule(&call.tool) == Rule::Log {
                self.audit(call, &ran);
            }
            self.conclude(transcript, call, ran).await;
        }
        Ok(())
    }

    async fn run(
        &self,
        tools: &Toolbox,
        call: &ToolCall,
        permission: Permission,
        preceding: Preceding,
    ) -> Result<FinishedCall, LoopError> {
        let begun_at = Instant::now();
        let tool = tools.label(&call.tool);
        let span = telemetry::of_tool(self.span, call, tool);
        let called = self.call(tools, call, permission, preceding).await;
        let is_denied = matches!(called, Err(ToolError::Denied(_)));
        let mut done = match called {
            Ok(done) => done,
            Err(ToolError::Reply(text) | ToolError::Denied(text)) => Done::error(text),
            Err(error @ ToolError::Panicked) => {
                tracing::error!(job = %self.context.job, tool = call.tool, "{error}");
                let text = "the tool failed because of an internal error. Try another way";
                Done::error(text.to_owned())
            }
            Err(ToolError::Abort(error)) => return Err(LoopError::Tool(error)),
        };
        // Redacted before it is capped, because a value that the cap cuts in two would not be recognised.
        if let Cow::Owned(text) = self.context.events.redact(&done.text) {
            done.text = text;
        }
        let outcome = match &done {
            _ if is_denied => ToolOutcome::Denied,
            done if done.timed_out => ToolOutcome::Timeout,
            done if done.is_error => ToolOutcome::Error,
            _ => ToolOutcome::Ok,
        };
        if outcome != ToolOutcome::Ok {
            span.fail(outcome.as_str());
        }
        Ok(FinishedCall {
            tool,
            done: self.cap(done, preceding.number).await,
            outcome,
            took: begun_at.elapsed(),
        })
    }

    async fn call(
        &self,
        tools: &Toolbox,
        call: &ToolCall,
        permission: Permission,
        preceding: Preceding,
    ) -> Result<Done, ToolError> {
        let redactor = self.context.events.redactor();
        let tool = tools.admit(call, redactor.as_deref());
        let tool = tool.map_err(ToolError::Reply)?;
        match permission {
            Permission::Granted => {}
            Permission::Denied(text) => return Err(ToolError::Denied(text)),
            // The loop requests approvals first. This makes sure that the call never runs without one.
            Permission::Unasked => {
                let text = "the call was not run: it was not approved";
                return Err(ToolError::Denied(text.to_owned()));
            }
        }
        let limit = tool
            .timeout(&self.context)
            .min(self.deadline.saturating_duration_since(Instant::now()));
        let running = async {
            let call = Call {
                context: &self.context,
                id: &call.call_id,
                number: preceding.number,
                input: &call.input,
                timeout: limit,
                output_bytes: preceding.output_bytes,
            };
            tool.call(call).await
        };
        guard(limit, running).await
    }

    /// Writes a result to the log and the transcript.
    async fn conclude(&self, transcript: &mut Transcript, call: &ToolCall, ran: FinishedCall) {
        let FinishedCall {
            tool,
            mut done,
            mut outcome,
            took,
        } = ran;
        if let Some(created) = done.created.take() {
            if transcript.progress.has_room_for(&created) {
                let event = EventData::AssetCreated(created.clone());
                self.context.events.append(event).await;
                // Without an `await` in between: an attempt that ends here has the output and its event, or neither.
                transcript.progress.add_output(created);
            } else {
                self.discard(created.asset.id).await;
                done = Done::error("there are too many outputs".to_owned());
                outcome = ToolOutcome::Error;
            }
        }
        self.meters.called(tool, outcome, took);
        let images = self.keep_images(&mut done).await;
        let completed = ToolCompleted {
            call_id: call.call_id.clone(),
            outcome,
            output: done.text.clone(),
            exit_code: done.exit_code,
            duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
            truncated: done.truncated,
            usage: done.usage,
            images,
        };
        self.context
            .events
            .append(EventData::ToolCompleted(completed))
            .await;
        transcript.add_result_with_images(done.text, done.is_error, done.images);
    }

    /// Deletes a stored file that does not become an output.
    async fn discard(&self, asset: AssetId) {
        if let Err(error) =
            shared::db::asset::discard(self.context.pool, self.context.assets, &[asset]).await
        {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(job = %self.context.job, error, "could not delete a rejected output; it is deleted after an hour");
        }
    }

    /// Writes a complete call to the operator's audit log, as its rule requires.
    fn audit(&self, call: &ToolCall, ran: &FinishedCall) {
        let input = call.input.to_string();
        tracing::info!(
            target: "skillet::audit",
            job = %self.context.job,
            tenant = %self.context.tenant,
            tool = call.tool,
            call_id = call.call_id,
            outcome = ?ran.outcome,
            input = %self.context.events.redact(&input),
            output = ran.done.text,
            "a tool was called"
        );
    }

    /// Cuts a result that is larger than the model reads, and keeps the complete result in the workspace.
    async fn cap(&self, done: Done, number: u32) -> Done {
        let shown = self.context.max_output_bytes;
        let most = if done.is_cut_json { 2 * shown } else { shown };
        if done.text.len() <= most {
            return done;
        }
        let mut buffer = HeadTailBuffer::new(shown);
        buffer.push(done.text.as_bytes());
        let part = buffer.finish().text;
        // The text is already redacted.
        let mut spill = Spill::new(
            self.context.workspace.clone(),
            &format!("{number}.txt"),
            None,
        );
        spill.push(done.text.as_bytes()).await;
        let rest = match spill.finish().await {
            Some(spilled) => format!(
                "all {} bytes of it are in the workspace file {}",
                spilled.bytes, spilled.path
            ),
            None => "what was left out could not be kept in a file".to_owned(),
        };
        Done {
            text: format!("{part}\n\n[This is a part of the result; {rest}.]"),
            truncated: true,
            ..done
        }
    }
}

/// Returns the next call, and the following calls that can run concurrently: they change nothing and need no
/// approval. Two equal calls do not run together, because the transcript counts repetitions between them.
fn next_calls(tools: &Toolbox, transcript: &Transcript) -> Vec<ToolCall> {
    let mut calls: Vec<ToolCall> = Vec::new();
    for call in transcript.open_calls().take(MAX_PARALLEL) {
        let goes_along = calls.last().is_none_or(|last| {
            tools.is_read_only(&last.tool)
                && tools.is_read_only(&call.tool)
                && tools.rule(&call.tool) != Rule::Confirm
                && (&last.tool, &last.input) != (&call.tool, &call.input)
        });
        if !goes_along {
            break;
        }
        calls.push(call.clone());
    }
    calls
}

/// Runs a tool call within its time limit, and catches a panic.
async fn guard(
    limit: Duration,
    running: impl Future<Output = Result<Done, ToolError>>,
) -> Result<Done, ToolError> {
    // No state of the attempt is left partially changed. Tools share only the log, which accepts complete events, and
    // the workspace, which belongs to the model.
    let running = AssertUnwindSafe(running).catch_unwind();
    match timeout(limit + GRACE, running).await {
        Ok(done) => done.unwrap_or(Err(ToolError::Panicked)),
        Err(_) => Ok(Done {
            timed_out: true,
            ..Done::error(format!("no result after {} s", limit.as_secs()))
        }),
    }
}

fn started(call: &ToolCall) -> EventData {
    EventData::ToolStarted(ToolStarted {
        call_id: call.call_id.clone(),
        tool: call.tool.clone(),
        input: call.input.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use worker_tool::blocking;

    const LIMIT: Duration = Duration::from_secs(30);

    #[tokio::test]
    async fn a_tool_that_panics_has_a_result_all_the_same() {
        let broken = async { panic!("a fault of ours") };
        let ended = guard(LIMIT, broken).await;
        assert!(matches!(ended, Err(ToolError::Panicked)));
        let broken = async { blocking(|| panic!("another, on another thread")).await? };
        let ended = guard(LIMIT, broken).await;
        assert!(matches!(ended, Err(ToolError::Panicked)));
    }

    #[tokio::test(start_paused = true)]
    async fn a_tool_that_hangs_is_given_up_after_its_time() {
        let begun_at = tokio::time::Instant::now();
        let done = guard(LIMIT, std::future::pending()).await.ok().unwrap();
        assert_eq!(begun_at.elapsed(), LIMIT + GRACE);
        assert!(done.is_error && done.timed_out && done.text == "no result after 30 s");
    }
}
