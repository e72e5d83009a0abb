use std::borrow::Cow;
use std::time::{Duration, Instant};

use serde_json::Value;
use shared::event::{EventData, ToolCompleted, ToolOutcome, ToolStarted};
use shared::message::ToolCall;
use tokio::time::timeout;

use super::{Call, Done, Tool, ToolError};
use crate::attempt::Attempt;
use crate::capture::Capture;
use crate::log::LeaseLost;
use crate::model::ToolSpec;
use crate::transcript::Transcript;

/// What a tool gets beyond its time to end by itself and say what it has.
const GRACE: Duration = Duration::from_secs(5);

/// The tools of a job.
pub(crate) struct Toolbox {
    tools: Vec<(ToolSpec, Box<dyn Tool>)>,
}

/// The attempt cannot go on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ExecuteError {
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    #[error("a tool failed")]
    Tool(#[source] anyhow::Error),
}

impl Toolbox {
    /// The tools of those names; names that are none of ours are left out.
    pub(crate) fn new(names: &[String]) -> Self {
        let tools = names.iter().filter_map(|name| super::find(name));
        Self {
            tools: tools.map(|tool| (tool.spec(), tool)).collect(),
        }
    }

    /// How the model sees them.
    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|(spec, _)| spec.clone()).collect()
    }

    /// Runs the transcript's next call and gives it its one result.
    pub(crate) async fn run_next(
        &self,
        attempt: &Attempt<'_>,
        transcript: &mut Transcript,
    ) -> Result<(), ExecuteError> {
        let Some(call) = transcript.next_call().cloned() else {
            return Ok(());
        };
        let started = ToolStarted {
            call_id: call.call_id.clone(),
            tool: call.tool.clone(),
            input: call.input.clone(),
        };
        // Committed before it runs: whoever takes over knows that it may have.
        attempt.log.commit(EventData::ToolStarted(started)).await?;
        let begun_at = Instant::now();
        let mut done = match self.call(attempt, &call).await {
            Ok(done) => done,
            Err(ToolError::Reply(text)) => Done {
                text,
                is_error: true,
                ..Done::default()
            },
            Err(ToolError::Abort(error)) => return Err(ExecuteError::Tool(error)),
        };
        if let Some(created) = done.created.take() {
            if transcript.add_output(created.clone()) {
                attempt.log.append(EventData::AssetCreated(created)).await;
            } else {
                done = Done {
                    text: "there are too many outputs".to_owned(),
                    is_error: true,
                    ..done
                };
            }
        }
        // Before it is capped: a value that the cap cuts in two could not be recognised.
        if let Cow::Owned(text) = attempt.log.redact(&done.text) {
            done.text = text;
        }
        let done = cap(done, attempt.skill.max_output_chars);
        let completed = ToolCompleted {
            call_id: call.call_id,
            outcome: outcome(&done),
            output: done.text.clone(),
            exit_code: done.exit_code,
            duration_ms: u64::try_from(begun_at.elapsed().as_millis()).unwrap_or(u64::MAX),
            truncated: done.truncated,
            usage: done.usage,
        };
        attempt
            .log
            .append(EventData::ToolCompleted(completed))
            .await;
        transcript.add_result(done.text, done.is_error);
        Ok(())
    }

    async fn call(&self, attempt: &Attempt<'_>, call: &ToolCall) -> Result<Done, ToolError> {
        if let Some(problem) = &call.malformed {
            return Err(ToolError::Reply(format!("the call was not run: {problem}")));
        }
        let Some((_, tool)) = self.tools.iter().find(|(spec, _)| spec.name == call.tool) else {
            let known: Vec<_> = self.tools.iter().map(|(spec, _)| spec.name).collect();
            let text = format!(
                "there is no tool `{}`; there are: {}",
                call.tool,
                known.join(", ")
            );
            return Err(ToolError::Reply(text));
        };
        let limit = tool.timeout().min(attempt.time_left());
        let input: &Value = &call.input;
        let running = tool.call(Call {
            attempt,
            id: &call.call_id,
            input,
            timeout: limit,
        });
        match timeout(limit + GRACE, running).await {
            Ok(done) => done,
            Err(_) => {
                let text = format!("no result after {} s", limit.as_secs());
                Ok(Done {
                    text,
                    is_error: true,
                    timed_out: true,
                    ..Done::default()
                })
            }
        }
    }
}

fn outcome(done: &Done) -> ToolOutcome {
    match done {
        done if done.timed_out => ToolOutcome::Timeout,
        done if done.is_error => ToolOutcome::Error,
        _ => ToolOutcome::Ok,
    }
}

/// Twice the cap leaves room for the escapes of a reply whose text is at the cap already.
fn cap(done: Done, max_bytes: usize) -> Done {
    if done.text.len() <= 2 * max_bytes {
        return done;
    }
    let mut capture = Capture::new(max_bytes);
    capture.push(done.text.as_bytes());
    Done {
        text: capture.finish().text,
        truncated: true,
        ..done
    }
}
