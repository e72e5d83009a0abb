//! Retries of model calls, and fallbacks to other models. No text is shown twice.

use std::time::Duration;

use futures_util::future::BoxFuture;
use futures_util::stream::{self, BoxStream, StreamExt};
use rand::RngExt;
use tokio::time::sleep;

use crate::{LanguageModel, ModelError, ModelEvent, ModelRequest};

/// The maximum number of times that one request is sent. The last error is returned to the caller.
const MAX_TRIES: u32 = 5;

/// The maximum random wait before the second try. It doubles for each further try.
const FIRST_WAIT: Duration = Duration::from_secs(1);

/// The maximum wait that a provider can request. Beyond it, the caller decides what to do.
const MAX_WAIT: Duration = Duration::from_secs(60);

/// A failed try.
pub struct Failed<'e> {
    /// The error.
    pub error: &'e ModelError,
    /// The index of the model that was called.
    pub model: usize,
    /// The index of the model that is called next, without a wait, because this one is unreachable.
    pub fallback: Option<usize>,
    /// The number of the try, from 1. Calls of several models in sequence are one try.
    pub tries: u32,
    /// The wait before the next call, or `None` if there is none.
    pub wait: Option<Duration>,
    /// Whether the model had started to reply.
    pub had_begun: bool,
}

impl Failed<'_> {
    /// Whether the provider may charge for the try. It does not if it declined the request before a
    /// reply or never received it.
    pub fn may_be_billed(&self) -> bool {
        self.had_begun
            || match self.error {
                ModelError::RateLimited { .. }
                | ModelError::CircuitOpen { .. }
                | ModelError::Paused { .. }
                | ModelError::Unavailable { .. }
                | ModelError::Refused { .. }
                | ModelError::ContextExceeded { .. } => false,
                ModelError::Transport(error) => !error.is_connect() && !error.is_builder(),
                ModelError::BrokenStream | ModelError::Protocol(_) => true,
            }
    }
}

/// Receives each failed try, and returns whether another call is allowed.
pub type TryReport<'a> = dyn Fn(Failed<'_>) -> BoxFuture<'a, bool> + Send + Sync + 'a;

/// Streams one reply of the first model, like [`LanguageModel::stream`]. If a model is unreachable before its reply
/// starts, the next model is called immediately. After the last model, and after errors that may be temporary, the
/// first model is called again.
///
/// Deltas may end early if a stream broke and the next reply started with a different text, but the completed message
/// is always that of one complete reply. `report` receives each error before the wait for the next try.
pub fn stream<'a>(
    models: &'a [&'a dyn LanguageModel],
    request: ModelRequest<'a>,
    report: &'a TryReport<'a>,
) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
    let asking = Asking {
        models,
        model: 0,
        request,
        report,
        reply: models[0].stream(request),
        tries: 1,
        had_begun: false,
        text: ShownText::default(),
        reasoning: ShownText::default(),
        ended: false,
    };
    stream::try_unfold(asking, |mut asking| async move {
        Ok(asking.next().await?.map(|event| (event, asking)))
    })
    .boxed()
}

struct Asking<'a> {
    models: &'a [&'a dyn LanguageModel],
    /// The index of the model that is called.
    model: usize,
    request: ModelRequest<'a>,
    report: &'a TryReport<'a>,
    reply: BoxStream<'a, Result<ModelEvent, ModelError>>,
    tries: u32,
    had_begun: bool,
    text: ShownText,
    reasoning: ShownText,
    ended: bool,
}

impl Asking<'_> {
    async fn next(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        while !self.ended {
            let next = self.reply.next().await;
            self.had_begun |= matches!(next, Some(Ok(_)));
            let unseen = match next {
                Some(Ok(ModelEvent::Begun)) => None,
                Some(Ok(ModelEvent::Text(delta))) => self.text.unseen(delta).map(ModelEvent::Text),
                Some(Ok(ModelEvent::Reasoning(delta))) => {
                    self.reasoning.unseen(delta).map(ModelEvent::Reasoning)
                }
                Some(Ok(completed @ ModelEvent::Completed(_))) => {
                    self.ended = true;
                    Some(completed)
                }
                Some(Err(error)) => {
                    self.ask_again(error).await?;
                    None
                }
                None => {
                    self.ask_again(ModelError::BrokenStream).await?;
                    None
                }
            };
            if unseen.is_some() {
                return Ok(unseen);
            }
        }
        Ok(None)
    }

    async fn ask_again(&mut self, error: ModelError) -> Result<(), ModelError> {
        let had_begun = std::mem::take(&mut self.had_begun);
        let is_replaced = error.is_outage() && !had_begun && self.model + 1 < self.models.len();
        let fallback = is_replaced.then_some(self.model + 1);
        let has_another = error.is_retryable() && self.tries < MAX_TRIES;
        let wait = match fallback {
            Some(_) => Some(Duration::ZERO),
            None => has_another.then(|| wait_after(self.tries, error.retry_after())),
        };
        let failed = Failed {
            error: &error,
            model: self.model,
            fallback,
            tries: self.tries,
            wait,
            had_begun,
        };
        let may_go_on = (self.report)(failed).await;
        let Some(wait) = wait.filter(|_| may_go_on) else {
            return Err(error);
        };
        if fallback.is_none() {
            sleep(wait).await;
            self.tries += 1;
        }
        self.model = fallback.unwrap_or(0);
        self.reply = self.models[self.model].stream(self.request);
        self.text.rewind();
        self.reasoning.rewind();
        Ok(())
    }
}

/// Returns the wait after `tries` tries: the wait that the provider requested, plus a random part of the backoff, so
/// that workers that were refused together do not try again together.
fn wait_after(tries: u32, retry_after: Option<Duration>) -> Duration {
    let backoff = FIRST_WAIT * 2_u32.pow(tries - 1);
    let asked = retry_after.unwrap_or_default().min(MAX_WAIT);
    asked + backoff.mul_f64(rand::rng().random_range(0.0..1.0))
}

/// The text of one kind of delta that was shown, and how much of it the current try has repeated.
#[derive(Default)]
struct ShownText {
    text: String,
    repeated: usize,
    diverged: bool,
}

impl ShownText {
    fn rewind(&mut self) {
        self.repeated = 0;
        self.diverged = false;
    }

    /// Returns the part of a delta beyond the text that was shown.
    fn unseen(&mut self, delta: String) -> Option<String> {
        if self.diverged {
            return None;
        }
        let ahead = &self.text[self.repeated..];
        if ahead.starts_with(&delta) {
            self.repeated += delta.len();
            return None;
        }
        let Some(unseen) = delta.strip_prefix(ahead) else {
            self.diverged = true;
            return None;
        };
        let unseen = unseen.to_owned();
        self.text.push_str(&unseen);
        self.repeated = self.text.len();
        Some(unseen)
    }
}

#[cfg(test)]
mod tests;
