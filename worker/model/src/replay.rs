//! Recorded streams for tests, replayed to a fold in chunks of any size.

use std::fmt::Write;
use std::path::Path;

use bytes::Bytes;
use futures_util::stream::{self, StreamExt};
use shared::message::{AssistantMessage, Block};

use crate::http::{self, SilenceLimits};
use crate::reply::{self, Fold};
use crate::{ModelError, ModelEvent};

/// Replays a stream of `data` lines in chunks of `chunk` bytes.
pub(super) async fn replay(
    fold: impl Fold,
    lines: &[&str],
    chunk: usize,
) -> Vec<Result<ModelEvent, ModelError>> {
    let wire: String = lines
        .iter()
        .map(|line| format!("data: {line}\n\n"))
        .collect();
    replay_wire(fold, &wire, chunk).await
}

async fn replay_wire(
    fold: impl Fold,
    wire: &str,
    chunk: usize,
) -> Vec<Result<ModelEvent, ModelError>> {
    let chunks: Vec<_> = wire
        .as_bytes()
        .chunks(chunk)
        .map(|c| Ok(Bytes::copy_from_slice(c)))
        .collect();
    let events = http::events(stream::iter(chunks), SilenceLimits::with_pings(None));
    reply::stream("the-api-key", async { Ok(events) }, fold)
        .filter(|event| {
            let is_news = !matches!(event, Ok(ModelEvent::Begun));
            std::future::ready(is_news)
        })
        .collect()
        .await
}

/// Replays a complete reply in chunks of many sizes, which must not matter. Returns its deltas (thoughts in
/// parentheses) and the completed message.
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
        ModelEvent::Begun | ModelEvent::Completed(_) => panic!("completed twice"),
    });
    (deltas.collect(), message)
}

/// Replays a stream that must end with an error.
pub(super) async fn replay_broken(fold: impl Fold, lines: &[&str]) -> ModelError {
    replay(fold, lines, 10).await.pop().unwrap().unwrap_err()
}

/// Replays the recorded streams of a folder. In each, comments that start with `:=` are the expected events.
/// Returns the number of streams.
pub(super) async fn replay_samples<F: Fold>(fold: impl Fn() -> F, folder: &str) -> usize {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
    let files = std::fs::read_dir(folder).unwrap();
    let mut count = 0;
    for file in files.map(|entry| entry.unwrap().path()) {
        let wire = std::fs::read_to_string(&file).unwrap();
        let lines = wire.lines().filter_map(|line| line.strip_prefix(":= "));
        let expected: Vec<&str> = lines.collect();
        let with_crlf = wire.replace('\n', "\r\n");
        for (wire, chunk) in [(&wire, 1), (&wire, 7), (&wire, usize::MAX), (&with_crlf, 1)] {
            let heard = heard(replay_wire(fold(), wire, chunk).await);
            let heard: Vec<&str> = heard.lines().collect();
            assert_eq!(heard, expected, "{} in chunks of {chunk}", file.display());
        }
        count += 1;
    }
    count
}

/// Returns the recorded reply as lines: the completed message, or the text so far with the error.
fn heard(events: Vec<Result<ModelEvent, ModelError>>) -> String {
    let (mut text, mut thoughts) = (String::new(), String::new());
    let mut heard = String::new();
    for event in events {
        match event {
            Ok(ModelEvent::Begun) => {}
            Ok(ModelEvent::Text(delta)) => text += &delta,
            Ok(ModelEvent::Reasoning(delta)) => thoughts += &delta,
            Ok(ModelEvent::Completed(message)) => {
                assert_eq!(text, message.text_with(""), "the deltas are the text");
                assert_eq!(thoughts, message_thoughts(&message));
                heard = told(&message);
            }
            Err(error) if text.is_empty() => heard = format!("error {error}"),
            Err(error) => heard = format!("{text}\nerror {error}"),
        }
    }
    heard
}

fn message_thoughts(message: &AssistantMessage) -> String {
    let thoughts = message.content.iter().filter_map(|block| match block {
        Block::Reasoning { text, .. } => Some(text.as_str()),
        _ => None,
    });
    thoughts.collect()
}

fn told(message: &AssistantMessage) -> String {
    let mut lines = String::new();
    for block in &message.content {
        match block {
            Block::Text { text } => writeln!(lines, "{text}"),
            Block::Reasoning { text, provider } => {
                if !text.is_empty() {
                    writeln!(lines, "({text})").unwrap();
                }
                let form = provider.as_ref().map(|form| format!("thought {form}\n"));
                write!(lines, "{}", form.unwrap_or_default())
            }
            Block::ToolCall(call) => match &call.malformed {
                None => writeln!(lines, "call {} {} {}", call.call_id, call.tool, call.input),
                Some(why) => writeln!(lines, "call {} {}: {why}", call.call_id, call.tool),
            },
        }
        .unwrap();
    }
    let stop = serde_json::to_value(message.stop_reason).unwrap();
    let usage = message.usage;
    writeln!(lines, "stop {}", stop.as_str().unwrap()).unwrap();
    writeln!(
        lines,
        "usage {} in, {} out, {} read, {} written, {} thought",
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.reasoning_tokens
    )
    .unwrap();
    lines
}
