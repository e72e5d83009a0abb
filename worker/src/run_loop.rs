//! The agent loop: it calls the model and runs the requested tools, until the model requests none.

#[cfg(test)]
mod scripted;
#[cfg(test)]
mod tests;

use shared::event::EventData;
use shared::job::LoopStop;
use worker_model::ModelRequest;

use crate::ask::{ModelAnswer, ask};
use crate::compaction::{compact_after_refusal, compact_if_full};
use crate::loop_error::LoopError;
use crate::ports::LoopPorts;
use crate::question::{Question, Urgency};
use crate::transcript::Transcript;

/// Runs the loop from the current end of the transcript.
pub(crate) async fn run_loop(
    ports: &mut LoopPorts<'_>,
    system: &str,
    transcript: &mut Transcript,
) -> Result<LoopStop, LoopError> {
    let tools = ports.tools.specs();
    let mut may_compact = true;
    loop {
        if let Some(stop) = finish_turn(ports, transcript).await? {
            return Ok(stop);
        }
        if let Some(stop) = transcript.stop(ports.limits.max_iterations) {
            return Ok(ports.budget.explain(stop));
        }
        ports.check_boundary()?;
        compact_if_full(ports, transcript).await?;
        if let Some(note) = ports.wrap_up.note(transcript.progress.usage.iterations) {
            transcript.note(&note);
        }
        transcript.end_with_user_turn();
        let request = ModelRequest {
            system,
            tools: &tools,
            messages: transcript.messages(),
            max_tokens: ports.limits.max_tokens,
            output_schema: transcript.output_schema(),
        };
        let question = Question {
            request,
            measured: ports.measured(transcript),
            used: transcript.progress.usage,
            urgency: Urgency::Required,
        };
        let reply = match ask(ports, question).await {
            Ok(ModelAnswer::Reply(reply)) => reply,
            Ok(ModelAnswer::Unaffordable(stop)) => return Ok(stop),
            Err(LoopError::Model(error)) if error.exceeds_context() && may_compact => {
                compact_after_refusal(ports, transcript, error).await?;
                may_compact = false;
                continue;
            }
            Err(error) => return Err(error),
        };
        may_compact = true;
        let completed = EventData::MessageCompleted(reply.clone());
        ports.log.append(completed).await;
        ports.budget.record(&reply.usage);
        transcript.add_reply(reply);
    }
}

/// Runs the open tool calls, if any, and then saves the workspace.
async fn finish_turn(
    ports: &mut LoopPorts<'_>,
    transcript: &mut Transcript,
) -> Result<Option<LoopStop>, LoopError> {
    if transcript.next_call().is_none() {
        return Ok(None);
    }
    let ran = run_calls(ports, transcript).await;
    // This also happens when the worker drains in the middle of a turn.
    let is_saved = ports.workspace.save().await;
    if !is_saved && matches!(ran, Err(LoopError::AwaitsApproval(_))) {
        return Err(LoopError::Unsaved);
    }
    ran
}

/// Runs the open tool calls in order.
async fn run_calls(
    ports: &LoopPorts<'_>,
    transcript: &mut Transcript,
) -> Result<Option<LoopStop>, LoopError> {
    while transcript.next_call().is_some() {
        if transcript.is_stuck() {
            return Ok(Some(LoopStop::RepeatedCall));
        }
        ports.check_boundary()?;
        let unapproved = ports.tools.unapproved(transcript);
        if !unapproved.is_empty() {
            return Err(LoopError::AwaitsApproval(unapproved));
        }
        ports.tools.run_next(transcript).await?;
    }
    Ok(None)
}
