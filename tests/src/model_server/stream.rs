//! The response body of a streamed reply.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;
use futures_util::{Stream, stream};

use super::chunk;
use super::given::Given;
use super::provider::Provider;
use super::reply::Ending;
use super::watcher::ResponseInProgress;

/// The remaining steps of a response.
struct Delivery {
    steps: VecDeque<Step>,
    in_progress: ResponseInProgress,
}

enum Step {
    Write(Bytes),
    Stall,
    Cut,
}

/// Streams the message. Each chunk is a separate write.
pub(super) fn body(
    provider: Provider,
    given: &Given,
    events: &[String],
    seed: usize,
    in_progress: ResponseInProgress,
) -> impl Stream<Item = io::Result<Bytes>> + use<> {
    let steps = steps(provider, given.message.ending, events, seed);
    stream::unfold(Delivery { steps, in_progress }, |mut delivery| async move {
        // The server flushes when the body has no data ready.
        tokio::task::yield_now().await;
        loop {
            let step = delivery.steps.pop_front();
            if delivery.steps.is_empty() {
                // A client that has read the last event may hang up before the end of the body.
                delivery.in_progress.complete();
            }
            match step? {
                Step::Write(bytes) => return Some((Ok(bytes), delivery)),
                Step::Cut => return Some((Err(io::ErrorKind::ConnectionAborted.into()), delivery)),
                Step::Stall => delivery.in_progress.stall().await,
            }
        }
    })
}

fn steps(provider: Provider, ending: Ending, events: &[String], seed: usize) -> VecDeque<Step> {
    let first = |count: usize| events[..count.min(events.len())].concat();
    let write = |text: String| chunk::writes(text.into(), seed).map(Step::Write);
    match ending {
        Ending::Complete => write(events.concat()).collect(),
        Ending::EndAfter(count) => write(first(count)).collect(),
        Ending::ErrorAfter(count) => write(first(count) + &provider.error_event()).collect(),
        Ending::GarbageAfter(count) => write(first(count) + "data: {malformed: <<<\n\n").collect(),
        Ending::CutAfter(count) => {
            let half = events
                .get(count)
                .map_or("", |event| &event[..event.len() / 2]);
            write(first(count) + half).chain([Step::Cut]).collect()
        }
        Ending::StallHalfway => {
            let (before, after) = events.split_at(events.len() / 2);
            write(before.concat())
                .chain([Step::Stall])
                .chain(write(after.concat()))
                .collect()
        }
    }
}
