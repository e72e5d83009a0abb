//! Runs calls. Whatever happens in a tool, each call gets exactly one result, in the order of the calls.

use std::borrow::Cow;
use std::panic::AssertUnwindSafe;
use std::time::{Duration, Instant};

use futures_util::stream::FuturesOrdered;
use futures_util::{FutureExt, StreamExt};
use shared::event::{EventData, ToolCompleted, ToolOutcome, ToolStarted};
use shared::hook::Rule;
use shared::id::AssetId;
use shared::message::ToolCall;
use tokio::time::timeout;

use super::approval::Permission;
use super::{Call, Done, ToolError, Toolbox};
use crate::attempt::Attempt;
use crate::capture::Capture;
use crate::log::LeaseLost;
use crate::spill::Spill;
use crate::telemetry;
use crate::transcript::Transcript;

/// Calls of one job that run at once, if they change nothing; the others wait.
const MAX_PARALLEL: usize = 8;
/// What a tool gets beyond its time to end by itself and say what it has.
const GRACE: Duration = Duration::from_secs(5);

/// The attempt cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    #[error("a tool failed")]
    Tool(#[source] anyhow::Error),
}

/// What was before a call.
#[derive(Clone, Copy)]
struct Preceding {
    /// Its place among the job's calls, from 1.
    number: u32,
    output_bytes: u64,
}

/// A call that has its result.
struct Ran {
    /// What it is called in numbers and spans.
    tool: &'static str,
    done: Done,
    outcome: ToolOutcome,
    took: Duration,
}

impl Toolbox {
    /// Runs the transcript's next call, and those after it if none of them changes anything. Each gets
    /// its one result.
    pub(crate) async fn run_next(
        &self,
        attempt: &Attempt<'_>,
        transcript: &mut Transcript,
    ) -> Result<(), ExecuteError> {
        let calls = self.next_calls(transcript);
        let Some((last, before)) = calls.split_last() else {
            return Ok(());
        };
        // Committed before any runs: whoever takes over knows that they may have.
        for call in before {
            attempt.log.append(started(call)).await;
        }
        attempt.log.commit(started(last)).await?;
        let number = transcript.progress.usage.tool_calls + 1;
        let output_bytes = transcript.progress.output_bytes;
        let mut results = FuturesOrdered::new();
        for (call, number) in calls.iter().zip(number..) {
            let permission = self.permission(call, transcript.verdict(&call.call_id));
            let preceding = Preceding {
                number,
                output_bytes,
            };
            results.push_back(self.run(attempt, call, permission, preceding));
        }
        for call in &calls {
            let Some(ran) = results.next().await else {
                break;
            };
            let ran = ran?;
            if self.rule(&call.tool) == Rule::Log {
                audit(attempt, call, &ran);
            }
            conclude(attempt, transcript, call, ran).await;
        }
        Ok(())
    }

    /// The next call; if it changes nothing, with those after it of which that is also true and for which
    /// nobody has to be asked. Two equal ones do not go together: the transcript counts repetitions between
    /// them.
    fn next_calls(&self, transcript: &Transcript) -> Vec<ToolCall> {
        let mut calls: Vec<ToolCall> = Vec::new();
        for call in transcript.open_calls().take(MAX_PARALLEL) {
            let goes_along = calls.last().is_none_or(|last| {
                self.is_read_only(&last.tool)
                    && self.is_read_only(&call.tool)
                    && self.rule(&call.tool) != Rule::Confirm
                    && (&last.tool, &last.input) != (&call.tool, &call.input)
            });
            if !goes_along {
                break;
            }
            calls.push(call.clone());
        }
        calls
    }

    async fn run(
        &self,
        attempt: &Attempt<'_>,
        call: &ToolCall,
        permission: Permission,
        preceding: Preceding,
    ) -> Result<Ran, ExecuteError> {
        let begun_at = Instant::now();
        let tool = self.label(&call.tool);
        let span = telemetry::of_tool(attempt.span, call, tool);
        let called = self.call(attempt, call, permission, preceding).await;
        let is_denied = matches!(called, Err(ToolError::Denied(_)));
        let mut done = match called {
            Ok(done) => done,
            Err(ToolError::Reply(text) | ToolError::Denied(text)) => Done::error(text),
            Err(error @ ToolError::Panicked) => {
                tracing::error!(job = %attempt.claimed.job.id, tool = call.tool, "{error}");
                let text = "the tool broke down; that is not your fault. Try another way";
                Done::error(text.to_owned())
            }
            Err(ToolError::Abort(error)) => return Err(ExecuteError::Tool(error)),
        };
        // Before it is capped: a value that the cap cuts in two could not be recognised.
        if let Cow::Owned(text) = attempt.log.redact(&done.text) {
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
        Ok(Ran {
            tool,
            done: cap(done, attempt, preceding.number).await,
            outcome,
            took: begun_at.elapsed(),
        })
    }

    async fn call(
        &self,
        attempt: &Attempt<'_>,
        call: &ToolCall,
        permission: Permission,
        preceding: Preceding,
    ) -> Result<Done, ToolError> {
        let redactor = attempt.log.redactor();
        let tool = self.admit(call, redactor.as_deref());
        let tool = tool.map_err(ToolError::Reply)?;
        match permission {
            Permission::Granted => {}
            Permission::Denied(text) => return Err(ToolError::Denied(text)),
            // The loop asks first. If it ever did not, this must not be how that shows.
            Permission::Unasked => {
                let text = "the call was not run: nobody has allowed it";
                return Err(ToolError::Denied(text.to_owned()));
            }
        }
        let limit = tool.timeout().min(attempt.time_left());
        let running = async {
            let call = Call {
                attempt,
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
}

/// Waits for a tool until its time is over, whatever it does.
async fn guard(
    limit: Duration,
    running: impl Future<Output = Result<Done, ToolError>>,
) -> Result<Done, ToolError> {
    // Nothing of the attempt is left half changed: what tools share are the log, which takes whole
    // events, and the workspace, which is the model's.
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

/// Writes a result down, in the log and in the transcript.
async fn conclude(attempt: &Attempt<'_>, transcript: &mut Transcript, call: &ToolCall, ran: Ran) {
    let Ran {
        tool,
        mut done,
        mut outcome,
        took,
    } = ran;
    if let Some(created) = done.created.take() {
        if transcript.progress.add_output(created.clone()) {
            attempt.log.append(EventData::AssetCreated(created)).await;
        } else {
            discard(attempt, created.asset.id).await;
            done = Done::error("there are too many outputs".to_owned());
            outcome = ToolOutcome::Error;
        }
    }
    attempt.shop.meters.called(tool, outcome, took);
    let completed = ToolCompleted {
        call_id: call.call_id.clone(),
        outcome,
        output: done.text.clone(),
        exit_code: done.exit_code,
        duration_ms: u64::try_from(took.as_millis()).unwrap_or(u64::MAX),
        truncated: done.truncated,
        usage: done.usage,
    };
    attempt
        .log
        .append(EventData::ToolCompleted(completed))
        .await;
    transcript.add_result(done.text, done.is_error);
}

/// Removes a file that was stored and becomes no output.
async fn discard(attempt: &Attempt<'_>, asset: AssetId) {
    let shop = attempt.shop;
    if let Err(error) = shared::db::asset::discard(&shop.pool, &shop.assets, &[asset]).await {
        let error = &error as &dyn std::error::Error;
        tracing::warn!(job = %attempt.claimed.job.id, error, "a refused output is left for an hour");
    }
}

/// Writes a call down for the operator, whole, as its rule wants it.
fn audit(attempt: &Attempt<'_>, call: &ToolCall, ran: &Ran) {
    let input = call.input.to_string();
    tracing::info!(
        target: "skillet::audit",
        job = %attempt.claimed.job.id,
        tenant = %attempt.claimed.tenant,
        tool = call.tool,
        call_id = call.call_id,
        outcome = ?ran.outcome,
        input = %attempt.log.redact(&input),
        output = ran.done.text,
        "a tool was called"
    );
}

/// Cuts what is larger than what the model reads, and keeps the whole in the workspace.
async fn cap(done: Done, attempt: &Attempt<'_>, number: u32) -> Done {
    let shown = attempt.role.max_output_chars;
    let most = if done.is_cut_json { 2 * shown } else { shown };
    if done.text.len() <= most {
        return done;
    }
    let mut capture = Capture::new(shown);
    capture.push(done.text.as_bytes());
    let part = capture.finish().text;
    // Without secrets already.
    let mut spill = Spill::new(attempt.workspace.clone(), &format!("{number}.txt"), None);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::blocking;

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
