//! The loop: ask the model, run what it calls, until it has nothing left to call.

use std::error::Error;
use std::time::Duration;

use futures_util::StreamExt;
use shared::event::{EventData, TextDelta};
use shared::job::{JobError, LoopStop};
use shared::message::{AssistantMessage, ToolCall};

use crate::attempt::Attempt;
use crate::compaction::compact_if_full;
use crate::log::LeaseLost;
use crate::model::{Model, ModelError, ModelEvent, Request, retry};
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
    #[error("the database failed")]
    Database(#[from] sqlx::Error),
    /// The job cannot go on, and another attempt would not help.
    #[error(transparent)]
    Job(#[from] JobError),
    /// These calls wait for people; the transcript stands before the first of them.
    #[error("calls wait for people")]
    Unasked(Vec<ToolCall>),
    /// A job that cannot be taken up later must not begin to wait.
    #[error("the workspace could not be saved")]
    Unsaved,
    /// The worker is leaving; the transcript stands at a boundary.
    #[error("the worker is leaving")]
    Drained,
}

/// What a loop works with.
pub(crate) struct Dialogue {
    pub(crate) model: Box<dyn Model>,
    pub(crate) tools: Toolbox,
    pub(crate) system: String,
    pub(crate) transcript: Transcript,
    pub(crate) snapshots: Snapshots,
}

/// Runs the loop from wherever its transcript stands.
pub(crate) async fn run_loop(
    attempt: &Attempt<'_>,
    dialogue: &mut Dialogue,
) -> Result<LoopStop, LoopError> {
    let specs = dialogue.tools.specs();
    let limits = attempt.claimed.request.limits;
    loop {
        if dialogue.transcript.next_call().is_some() {
            let ran = run_calls(attempt, &dialogue.tools, &mut dialogue.transcript).await;
            // Also when the worker is leaving in the middle of a turn.
            let is_saved = attempt.save(&mut dialogue.snapshots).await;
            if !is_saved && matches!(ran, Err(LoopError::Unasked(_))) {
                return Err(LoopError::Unsaved);
            }
            if let Some(stop) = ran? {
                return Ok(stop);
            }
        }
        if let Some(stop) = dialogue.transcript.stop(limits.max_iterations) {
            return Ok(stop);
        }
        attempt.check_boundary()?;
        compact_if_full(attempt, dialogue).await?;
        dialogue.transcript.give_turn();
        let request = Request {
            system: &dialogue.system,
            tools: &specs,
            messages: dialogue.transcript.messages(),
            max_tokens: limits.max_tokens,
        };
        let reply = ask(attempt, &*dialogue.model, request, true).await?;
        attempt
            .log
            .append(EventData::MessageCompleted(reply.clone()))
            .await;
        dialogue.transcript.add_reply(reply);
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
        let redactor = attempt.log.redactor();
        let unasked = tools.unasked(transcript, redactor.as_deref());
        if !unasked.is_empty() {
            return Err(LoopError::Unasked(unasked));
        }
        tools.run_next(attempt, transcript).await?;
    }
    Ok(None)
}

/// One reply. If it `is_public`, its deltas go to the log as they come.
pub(crate) async fn ask(
    attempt: &Attempt<'_>,
    model: &dyn Model,
    request: Request<'_>,
    is_public: bool,
) -> Result<AssistantMessage, LoopError> {
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
        if is_public {
            attempt.log.append(delta).await;
        }
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
