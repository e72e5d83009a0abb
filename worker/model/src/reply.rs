//! The conversion of a provider's events to the events of a reply.

use std::collections::VecDeque;

use futures_util::future::TryFutureExt;
use futures_util::stream::{self, BoxStream, Stream, StreamExt, TryStreamExt};
use shared::message::AssistantMessage;

use crate::http::Events;
use crate::surrogate::{self, Joiner};
use crate::{ModelError, ModelEvent, failure};

/// The decoder of one wire format's events.
pub(super) trait Fold: Send {
    /// Takes the data of one event, and appends the resulting events to `out`.
    /// [`ModelEvent::Completed`] ends the reply.
    fn take(&mut self, data: &str, out: &mut VecDeque<ModelEvent>) -> Result<(), ModelError>;

    /// Handles the end of the stream before the reply was completed. Returns the reply if it is complete nevertheless.
    fn end(&mut self) -> Result<AssistantMessage, ModelError>;
}

/// Streams the events of a reply from the events of a call. `key` never appears in an error.
pub(super) fn stream<'a>(
    key: &'a str,
    call: impl Future<Output = Result<Events, ModelError>> + Send + 'a,
    fold: impl Fold + 'a,
) -> BoxStream<'a, Result<ModelEvent, ModelError>> {
    let folding = call
        .map_ok(|events| folded(events, fold))
        .try_flatten_stream();
    folding
        .map_err(|error| failure::presentable(error, key))
        .boxed()
}

fn folded<F: Fold>(events: Events, fold: F) -> impl Stream<Item = Result<ModelEvent, ModelError>> {
    let folding = Folding {
        events,
        fold,
        ready: VecDeque::new(),
        text: Joiner::default(),
        reasoning: Joiner::default(),
        begun: false,
        ended: false,
    };
    stream::try_unfold(folding, |mut folding| async move {
        Ok(folding.next().await?.map(|event| (event, folding)))
    })
}

struct Folding<F> {
    events: Events,
    fold: F,
    ready: VecDeque<ModelEvent>,
    text: Joiner,
    reasoning: Joiner,
    begun: bool,
    ended: bool,
}

impl<F: Fold> Folding<F> {
    async fn next(&mut self) -> Result<Option<ModelEvent>, ModelError> {
        while !self.ended {
            if let Some(event) = self.ready.pop_front() {
                match self.joined(event) {
                    Some(event) => return Ok(Some(event)),
                    None => continue,
                }
            }
            let last = match self.events.next().await {
                Some(Ok(event)) if event.data.trim().is_empty() => continue,
                Some(Ok(event)) => {
                    self.fold.take(&event.data, &mut self.ready)?;
                    if !std::mem::replace(&mut self.begun, true) {
                        self.ready.push_front(ModelEvent::Begun);
                    }
                    continue;
                }
                // An error after a complete reply is ignored.
                Some(Err(error)) => self.fold.end().map_err(|_| error)?,
                None => self.fold.end()?,
            };
            self.ready.push_back(ModelEvent::Completed(last));
        }
        Ok(None)
    }

    /// Returns the event with complete characters, or `None` if it must wait for the other half of a character.
    fn joined(&mut self, event: ModelEvent) -> Option<ModelEvent> {
        match event {
            ModelEvent::Begun => Some(event),
            ModelEvent::Text(piece) => shown(ModelEvent::Text, self.text.push(piece)),
            ModelEvent::Reasoning(piece) => {
                shown(ModelEvent::Reasoning, self.reasoning.push(piece))
            }
            ModelEvent::Completed(mut message) => {
                let left = shown(ModelEvent::Reasoning, self.reasoning.finish())
                    .or_else(|| shown(ModelEvent::Text, self.text.finish()));
                if left.is_some() {
                    self.ready.push_front(ModelEvent::Completed(message));
                    return left;
                }
                surrogate::join_message(&mut message);
                self.ended = true;
                Some(ModelEvent::Completed(message))
            }
        }
    }
}

/// Returns the event with this text, or `None` if the text is empty.
pub(super) fn shown(kind: fn(String) -> ModelEvent, text: String) -> Option<ModelEvent> {
    (!text.is_empty()).then(|| kind(text))
}
