//! The loop: ask the model, run what it calls, until it has nothing left to call.

use std::error::Error;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use shared::event::{EventData, TextDelta};
use shared::job::{JobError, LoopStop, Usage};
use shared::message::{AssistantMessage, ToolCall};

use crate::attempt::Attempt;
use crate::budget::Urgency;
use crate::compaction::compact_if_full;
use crate::log::LeaseLost;
use crate::model::retry::{self, Failed};
use crate::model::{Model, ModelError, ModelEvent, Request};
use crate::telemetry::ModelCall;
use crate::tool::{ExecuteError, Toolbox};
use crate::transcript::{Measured, Transcript};
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
            return Ok(attempt.budget.explain(stop));
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
        let question = Question {
            request,
            measured: dialogue.transcript.measured(&attempt.claimed.job.model),
            used: dialogue.transcript.progress.usage,
            urgency: Urgency::Needed,
        };
        let reply = match ask(attempt, &*dialogue.model, question).await? {
            Answer::Reply(reply) => reply,
            Answer::Unaffordable(stop) => return Ok(stop),
        };
        attempt
            .log
            .append(EventData::MessageCompleted(reply.clone()))
            .await;
        attempt.budget.note(&reply.usage);
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

/// What a model is asked, and what is known of what that takes.
pub(crate) struct Question<'a> {
    pub(crate) request: Request<'a>,
    /// What the provider has counted of it.
    pub(crate) measured: Option<Measured>,
    /// What the job has used so far.
    pub(crate) used: Usage,
    /// The deltas of a reply that is needed go to the log as they come.
    pub(crate) urgency: Urgency,
}

/// What came of a question.
pub(crate) enum Answer {
    Reply(AssistantMessage),
    /// The reply could have gone beyond a budget.
    Unaffordable(LoopStop),
}

/// One reply, if there is budget for it.
pub(crate) async fn ask(
    attempt: &Attempt<'_>,
    model: &dyn Model,
    question: Question<'_>,
) -> Result<Answer, LoopError> {
    let budget = &attempt.budget;
    let max_tokens = match budget.reserve(&question).await? {
        Ok(max_tokens) => max_tokens,
        Err(stop) => {
            attempt.shop.meters.refused(stop);
            return Ok(Answer::Unaffordable(stop));
        }
    };
    let call = ModelCall::begin(attempt, max_tokens);
    let request = Request {
        max_tokens,
        ..question.request
    };
    let used = question.used;
    let report = |failed: Failed<'_>| -> BoxFuture<'_, bool> {
        report(attempt, &failed);
        let (may_be_billed, is_last) = (failed.may_be_billed(), failed.wait.is_none());
        call.failed(failed.error, is_last);
        budget.fail(may_be_billed, is_last, used).boxed()
    };
    let mut events = retry::stream(model, request, &report);
    loop {
        // A reply that is not complete is asked for again, so the worker need not wait for it to leave, unless
        // that would use a budget up for nothing.
        let event = tokio::select! {
            event = events.next() => event.ok_or(ModelError::BrokenStream).flatten(),
            () = attempt.drain.cancelled(), if !budget.applies() => return Err(LoopError::Drained),
        };
        let delta = match event {
            Ok(ModelEvent::Begun) => continue,
            Ok(ModelEvent::Text(text)) => EventData::MessageDelta(TextDelta { text }),
            Ok(ModelEvent::Reasoning(text)) => EventData::ReasoningDelta(TextDelta { text }),
            Ok(ModelEvent::Completed(mut reply)) => {
                budget.settle(&mut reply.usage).await;
                call.replied(&reply);
                return Ok(Answer::Reply(reply));
            }
            Err(error) => {
                let refusal = budget.refusal().unwrap_or(Err(error.into()));
                if let Ok(stop) = refusal {
                    attempt.shop.meters.refused(stop);
                }
                return refusal.map(Answer::Unaffordable);
            }
        };
        if question.urgency == Urgency::Needed {
            attempt.log.append(delta).await;
        }
    }
}

/// Tells the operator. A provider's words may be those of the job.
fn report(attempt: &Attempt<'_>, failed: &Failed<'_>) {
    let (Some(wait), tries) = (failed.wait, failed.tries) else {
        return;
    };
    let first = Some(failed.error as &dyn Error);
    let causes = std::iter::successors(first, |&error| error.source());
    let error = causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    let error = attempt.log.redact(&error);
    tracing::warn!(job = %attempt.claimed.job.id, %error, tries, ?wait, "the model is asked again");
}
