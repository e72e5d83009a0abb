//! For tests: recorded streams, played to a fold in chunks of any size.

use std::time::Duration;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use shared::message::AssistantMessage;

use crate::model::reply::{self, Fold};
use crate::model::{ModelError, ModelEvent, http};

/// Plays a stream of `data` lines in chunks of that many bytes.
pub(super) async fn replay(
    fold: impl Fold,
    lines: &[&str],
    chunk: usize,
) -> Vec<Result<ModelEvent, ModelError>> {
    let wire: String = lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect();
    let chunks: Vec<_> = wire
        .as_bytes()
        .chunks(chunk)
        .map(|c| Ok(Bytes::copy_from_slice(c)))
        .collect();
    let events = http::events(stream::iter(chunks), Duration::from_secs(1));
    reply::stream("the-api-key", async { Ok(events) }, fold)
        .collect()
        .await
}

/// Plays a whole reply in chunks of many sizes, which must not matter, and tells its deltas (thoughts
/// in parentheses) and the completed message.
pub(super) async fn replay_whole<F: Fold>(
    fold: impl Fn() -> F,
    lines: &[&str],
) -> (Vec<String>, AssistantMessage) {
    let whole = replay(fold(), lines, usize::MAX).await;
    for chunk in [1, 2, 7, 64, 1000] {
        let again = replay(fold(), lines, chunk).await;
        assert_eq!(
            format!("{again:?}"),
            format!("{whole:?}"),
            "chunks of {chunk}"
        );
    }
    let mut events: Vec<ModelEvent> = whole.into_iter().map(|event| event.unwrap()).collect();
    let Some(ModelEvent::Completed(message)) = events.pop() else {
        panic!("{events:?}")
    };
    let deltas = events.into_iter().map(|event| match event {
        ModelEvent::Text(text) => text,
        ModelEvent::Reasoning(text) => format!("({text})"),
        ModelEvent::Completed(_) => panic!("completed twice"),
    });
    (deltas.collect(), message)
}

/// Plays a stream that must end with an error.
pub(super) async fn replay_broken(fold: impl Fold, lines: &[&str]) -> ModelError {
    replay(fold, lines, 10).await.pop().unwrap().unwrap_err()
}
