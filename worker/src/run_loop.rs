//! The loop: ask the model, run what it calls, until it has nothing left to call.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use shared::event::{EventData, TextDelta};
use shared::job::LoopStop;
use shared::message::AssistantMessage;

use crate::attempt::Attempt;
use crate::log::LeaseLost;
use crate::model::{Model, ModelError, ModelEvent, Request, ToolSpec, retry};
use crate::tool::{ExecuteError, Toolbox};
use crate::transcript::Transcript;
use crate::workspace::Snapshots;

/// Why a loop did not come to its end.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LoopError {
    #[error(transparent)]
    Execute(#[from] ExecuteError),
    #[error(transparent)]
    LeaseLost(#[from] LeaseLost),
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The worker is leaving; the transcript stands at a boundary.
    #[error("the worker is leaving")]
    Drained,
}

/// What a loop works with.
pub(crate) struct Conversation {
    pub(crate) model: Box<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) system: String,
    pub(crate) transcript: Transcript,
    pub(crate) snapshots: Snapshots,
}

/// Runs the loop from wherever its transcript stands.
pub(crate) async fn run_loop(
    attempt: &Attempt<'_>,
    conversation: &mut Conversation,
) -> Result<LoopStop, LoopError> {
    let Conversation {
        model,
        tools,
        system,
        transcript,
        snapshots,
    } = conversation;
    let specs = tools.specs();
    loop {
        if transcript.next_call().is_some() {
            let ran = run_calls(attempt, tools, transcript).await;
            // Also when the worker is leaving in the middle of a turn.
            attempt.save(snapshots).await;
            if let Some(stop) = ran? {
                return Ok(stop);
            }
        }
        if let Some(stop) = transcript.stop(attempt.claimed.request.limits.max_iterations) {
            return Ok(stop);
        }
        attempt.check_boundary()?;
        transcript.give_turn();
        let reply = ask(attempt, &**model, &specs, system, transcript).await?;
        attempt
            .log
            .append(EventData::MessageCompleted(reply.clone()))
            .await;
        transcript.add_reply(reply);
    }
}

/// Runs the calls that wait for a result, in order.
async fn run_calls(
    attempt: &Attempt<'_>,
    tools: &Toolbox,
    transcript: &mut Transcript,
) -> Result<Option<LoopStop>, LoopError> {
    while transcript.next_call().is_some() {
        if transcript.is_stuck() {
            return Ok(Some(LoopStop::RepeatedCall));
        }
        attempt.check_boundary()?;
        tools.run_next(attempt, transcript).await?;
    }
    Ok(None)
}

/// One reply, its deltas going to the log as they come.
async fn ask(
    attempt: &Attempt<'_>,
    model: &dyn Model,
    tools: &[ToolSpec],
    system: &str,
    transcript: &Transcript,
) -> Result<AssistantMessage, LoopError> {
    let max_tokens = attempt.claimed.request.limits.max_tokens;
    let request = Request {
        system,
        tools,
        messages: transcript.messages(),
        max_tokens,
    };
    let report = |error: &ModelError, tries, wait| report(attempt, error, tries, wait);
    let mut events = retry::stream(model, request, &report);
    loop {
        // A reply that is not complete is asked for again, so the worker need not wait for it to leave.
        let event = tokio::select! {
            event = events.next() => event.ok_or(ModelError::BrokenStream)??,
            () = attempt.drain.cancelled() => return Err(LoopError::Drained),
        };
        let delta = match event {
            ModelEvent::Text(text) => EventData::MessageDelta(TextDelta { text }),
            ModelEvent::Reasoning(text) => EventData::ReasoningDelta(TextDelta { text }),
            ModelEvent::Completed(reply) => return Ok(reply),
        };
        attempt.log.append(delta).await;
    }
}

/// Tells the operator. A provider's words may be those of the job.
fn report(attempt: &Attempt<'_>, error: &ModelError, tries: u32, wait: Duration) {
    let causes = std::iter::successors(Some(error as &dyn Error), |&error| error.source());
    let error = causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    let error = attempt.log.redact(&error);
    tracing::warn!(job = %attempt.claimed.job.id, %error, tries, ?wait, "the model is asked again");
}
