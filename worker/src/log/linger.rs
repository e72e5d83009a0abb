//! Live output that waits to be merged with further output.
//!
//! While nobody follows a job, its live output waits briefly, so that many small parts become one row.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use shared::db::log::Lease;
use shared::event::EventData;
use tokio::time::Instant;

use super::batch::merge;

/// The maximum time that live output waits.
pub(super) const LINGER: Duration = Duration::from_millis(50);
/// The maximum number of waiting events of one job. If there are more, they are written immediately.
const MAX_EVENTS: usize = 64;
/// The maximum number of waiting bytes of one job. If there are more, they are written immediately.
const MAX_BYTES: usize = 16 * 1024;

/// Live output that is not in a batch yet, by lease.
#[derive(Default)]
pub(super) struct LingeringDeltas {
    jobs: HashMap<Lease, Lingering>,
    /// In order of the deadlines. An entry is obsolete if its deadline differs from the current one of its lease.
    deadlines: VecDeque<(Instant, Lease)>,
}

struct Lingering {
    deadline: Instant,
    events: Vec<EventData>,
    bytes: usize,
}

impl LingeringDeltas {
    /// Adds live output of a job. Returns whether there is so much of it that it must be written now.
    pub(super) fn add(&mut self, lease: Lease, events: Vec<EventData>) -> bool {
        let deadlines = &mut self.deadlines;
        let lingering = self.jobs.entry(lease).or_insert_with(|| {
            let deadline = Instant::now() + LINGER;
            deadlines.push_back((deadline, lease));
            Lingering {
                deadline,
                events: Vec::new(),
                bytes: 0,
            }
        });
        for event in events {
            lingering.bytes += text_len(&event);
            let event = match lingering.events.last_mut() {
                Some(last) => merge(last, event),
                None => Some(event),
            };
            lingering.events.extend(event);
        }
        lingering.bytes > MAX_BYTES || lingering.events.len() > MAX_EVENTS
    }

    /// Takes the waiting output of a job.
    pub(super) fn take(&mut self, lease: Lease) -> Vec<EventData> {
        let taken = self.jobs.remove(&lease);
        taken.map_or_else(Vec::new, |lingering| lingering.events)
    }

    /// Takes the waiting output of the job that has waited longest, if its deadline is at or before `now`.
    pub(super) fn take_due(&mut self, now: Instant) -> Option<(Lease, Vec<EventData>)> {
        let deadline = self.next_deadline()?;
        if deadline > now {
            return None;
        }
        let (_, lease) = self.deadlines.pop_front()?;
        Some((lease, self.take(lease)))
    }

    /// Returns the next deadline, if any output waits.
    pub(super) fn next_deadline(&mut self) -> Option<Instant> {
        while let Some((deadline, lease)) = self.deadlines.front() {
            if self
                .jobs
                .get(lease)
                .is_some_and(|it| it.deadline == *deadline)
            {
                return Some(*deadline);
            }
            self.deadlines.pop_front();
        }
        None
    }
}

fn text_len(event: &EventData) -> usize {
    match event {
        EventData::MessageDelta(delta) | EventData::ReasoningDelta(delta) => delta.text.len(),
        EventData::ToolOutput(output) => output.text.len(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use shared::event::TextDelta;
    use shared::id::JobId;

    use super::*;

    fn text(text: &str) -> EventData {
        EventData::MessageDelta(TextDelta {
            text: text.to_owned(),
        })
    }

    fn stored(events: &[EventData]) -> Vec<String> {
        events.iter().map(|event| event.to_stored().1).collect()
    }

    fn lease() -> Lease {
        Lease {
            job: JobId::new(),
            number: 1,
        }
    }

    #[tokio::test(start_paused = true)]
    async fn parts_wait_for_the_deadline_of_the_first_and_become_one() {
        let (one, other) = (lease(), lease());
        let mut deltas = LingeringDeltas::default();
        assert!(!deltas.add(one, vec![text("a")]));
        tokio::time::advance(LINGER / 2).await;
        assert!(!deltas.add(other, vec![text("x")]));
        assert!(!deltas.add(one, vec![text("b"), text("c")]));
        assert!(deltas.take_due(Instant::now()).is_none());
        tokio::time::advance(LINGER / 2).await;
        let (lease, events) = deltas.take_due(Instant::now()).unwrap();
        assert_eq!(lease, one);
        assert_eq!(stored(&events), [r#"{"text":"abc"}"#]);
        assert!(deltas.take_due(Instant::now()).is_none());
        assert_eq!(deltas.next_deadline(), Some(Instant::now() + LINGER / 2));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_taken_has_no_deadline_and_much_does_not_wait() {
        let one = lease();
        let mut deltas = LingeringDeltas::default();
        assert!(!deltas.add(one, vec![text("a")]));
        tokio::time::advance(LINGER / 2).await;
        assert_eq!(stored(&deltas.take(one)), [r#"{"text":"a"}"#]);
        assert_eq!(deltas.next_deadline(), None);
        assert!(deltas.add(one, vec![text(&"b".repeat(MAX_BYTES + 1))]));
        assert_eq!(deltas.next_deadline(), Some(Instant::now() + LINGER));
        assert_eq!(deltas.take(one).len(), 1);
        assert!(deltas.take(one).is_empty());
    }
}
