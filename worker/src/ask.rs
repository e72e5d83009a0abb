//! One question to the model: budget, retries, streaming of deltas to the log.

use std::error::Error;

use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::StreamExt;
use shared::event::{EventData, LogLevel, LogLine, TextDelta};
use shared::job::LoopStop;
use shared::message::AssistantMessage;
use worker_model::retry::{self, Failed};
use worker_model::{ModelError, ModelEvent, ModelRequest};

use crate::budget::Reserved;
use crate::loop_error::LoopError;
use crate::ports::LoopPorts;
use crate::question::{Question, Urgency};
use crate::telemetry::ModelCall;

/// The result of a question.
pub(crate) enum ModelAnswer {
    Reply(AssistantMessage),
    /// The reply could have exceeded a budget.
    Unaffordable(LoopStop),
}

/// Asks for one reply, if there is budget for it.
pub(crate) async fn ask(
    ports: &LoopPorts<'_>,
    question: Question<'_>,
) -> Result<ModelAnswer, LoopError> {
    let budget = ports.budget;
    let max_tokens = match budget.reserve(&question).await? {
        Reserved::Granted(max_tokens) => max_tokens,
        Reserved::Refused(stop) => {
            ports.meters.refused(stop);
            return Ok(ModelAnswer::Unaffordable(stop));
        }
    };
    let call = ModelCall::begin(ports.span, &ports.meters.models, ports.models, max_tokens);
    let request = ModelRequest {
        max_tokens,
        ..question.request
    };
    let used = question.used;
    let report = |failed: Failed<'_>| -> BoxFuture<'_, bool> {
        log_retry(ports, &failed);
        let (may_be_billed, is_last) = (failed.may_be_billed(), failed.wait.is_none());
        call.failed(failed.model, failed.error, is_last);
        let fallback = failed
            .fallback
            .map(|next| note_fallback(ports, failed.error, failed.model, next));
        async move {
            if let Some(line) = fallback {
                ports.log.append(line).await;
            }
            budget.fail(may_be_billed, is_last, used).await
        }
        .boxed()
    };
    let mut events = retry::stream(ports.clients, request, &report);
    loop {
        // The next worker requests an incomplete reply again. A draining worker waits for the reply only if the
        // repetition would waste a budget.
        let event = tokio::select! {
            event = events.next() => event.ok_or(ModelError::BrokenStream).flatten(),
            () = ports.drain.cancelled(), if !budget.applies() => return Err(LoopError::Drained),
        };
        let delta = match event {
            Ok(ModelEvent::Begun) => continue,
            Ok(ModelEvent::Text(text)) => EventData::MessageDelta(TextDelta { text }),
            Ok(ModelEvent::Reasoning(text)) => EventData::ReasoningDelta(TextDelta { text }),
            Ok(ModelEvent::Completed(mut reply)) => {
                budget.settle(&mut reply).await;
                call.replied(&reply);
                if let Some(model) = ports.models.iter().find(|it| it.is(&reply.model)) {
                    ports.job_model.answered(model.name).await;
                }
                return Ok(ModelAnswer::Reply(reply));
            }
            Err(error) => {
                let Some(refusal) = budget.refusal() else {
                    return Err(error.into());
                };
                let stop = refusal?;
                ports.meters.refused(stop);
                return Ok(ModelAnswer::Unaffordable(stop));
            }
        };
        if question.urgency == Urgency::Required {
            ports.log.append(delta).await;
        }
    }
}

/// Counts a fallback, and returns the log line that gives its reason.
fn note_fallback(
    ports: &LoopPorts<'_>,
    error: &ModelError,
    failed: usize,
    next: usize,
) -> EventData {
    let (from, to) = (ports.models[failed].name, ports.models[next].name);
    let meters = &ports.meters.providers;
    meters.fell_back(from.provider(), to.provider());
    EventData::Log(LogLine {
        level: LogLevel::Warning,
        message: format!("the model `{from}` is replaced by `{to}`: {error}"),
    })
}

/// Logs a retry for the operator, without the job's secrets.
fn log_retry(ports: &LoopPorts<'_>, failed: &Failed<'_>) {
    let (Some(wait), tries) = (failed.wait, failed.tries) else {
        return;
    };
    let first = Some(failed.error as &dyn Error);
    let causes = std::iter::successors(first, |&error| error.source());
    let error = causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ");
    let error = ports.log.redact(&error);
    tracing::warn!(job = %ports.job, %error, tries, ?wait, "the model call failed and is retried");
}
