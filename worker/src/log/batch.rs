//! A batch of events of many jobs.

use std::collections::HashMap;

use shared::db::log::{Append, Lease, MAX_BATCH_JOBS, RunTransition};
use shared::event::EventData;

use super::Written;

/// The maximum number of events in a batch. Further events wait for the next batch.
const MAX_EVENTS: usize = 5_000;

/// The events of many jobs, by lease.
#[derive(Default)]
pub(super) struct EventBatch {
    jobs: HashMap<Lease, Pending>,
    events: usize,
}

struct Pending {
    events: Vec<EventData>,
    next: RunTransition,
    waiting: Vec<Written>,
}

impl EventBatch {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    pub(super) fn has_room(&self) -> bool {
        self.jobs.len() < MAX_BATCH_JOBS && self.events < MAX_EVENTS
    }

    pub(super) fn add(
        &mut self,
        lease: Lease,
        events: Vec<EventData>,
        next: RunTransition,
        written: Option<Written>,
    ) {
        let empty = || Pending {
            events: Vec::new(),
            next: RunTransition::Continue,
            waiting: Vec::new(),
        };
        let pending = self.jobs.entry(lease).or_insert_with(empty);
        for event in events {
            let event = match pending.events.last_mut() {
                Some(last) => merge(last, event),
                None => Some(event),
            };
            self.events += usize::from(event.is_some());
            pending.events.extend(event);
        }
        pending.next = next;
        pending.waiting.extend(written);
    }

    /// Returns the appends, and the waiters for their commit. Jobs whose log is not open any more are left out.
    pub(super) fn into_appends(
        self,
        last_seq: impl Fn(Lease) -> Option<i64>,
    ) -> (Vec<Append>, Vec<(Lease, Written)>) {
        let mut waiting = Vec::new();
        let mut appends = Vec::new();
        for (lease, pending) in self.jobs {
            waiting.extend(pending.waiting.into_iter().map(|written| (lease, written)));
            if let Some(base) = last_seq(lease) {
                appends.push(Append {
                    lease,
                    base,
                    events: pending.events,
                    next: pending.next,
                });
            }
        }
        (appends, waiting)
    }
}

/// Appends the event's text to the previous event if both are parts of the same text. Otherwise returns the event.
pub(super) fn merge(last: &mut EventData, event: EventData) -> Option<EventData> {
    match (last, event) {
        (EventData::MessageDelta(last), EventData::MessageDelta(more))
        | (EventData::ReasoningDelta(last), EventData::ReasoningDelta(more)) => {
            last.text.push_str(&more.text);
            None
        }
        (EventData::ToolOutput(last), EventData::ToolOutput(more))
            if last.call_id == more.call_id && last.stream == more.stream =>
        {
            last.text.push_str(&more.text);
            None
        }
        (_, event) => Some(event),
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

    fn reasoning(text: &str) -> EventData {
        EventData::ReasoningDelta(TextDelta {
            text: text.to_owned(),
        })
    }

    #[test]
    fn adjacent_text_of_a_job_becomes_one_event_and_order_stays() {
        let lease = Lease {
            job: JobId::new(),
            number: 1,
        };
        let other = Lease {
            job: JobId::new(),
            number: 1,
        };
        let mut batch = EventBatch::default();
        for event in [
            reasoning("h"),
            reasoning("m"),
            text("a"),
            text("b"),
            reasoning("x"),
            text("c"),
        ] {
            batch.add(lease, vec![event], RunTransition::Continue, None);
            batch.add(other, vec![text("-")], RunTransition::Continue, None);
        }
        let (appends, _) = batch.into_appends(|_| Some(1));
        let append = appends.iter().find(|append| append.lease == lease).unwrap();
        let stored: Vec<_> = append.events.iter().map(EventData::to_stored).collect();
        let expected = [
            ("reasoning.delta", r#"{"text":"hm"}"#),
            ("message.delta", r#"{"text":"ab"}"#),
            ("reasoning.delta", r#"{"text":"x"}"#),
            ("message.delta", r#"{"text":"c"}"#),
        ];
        assert_eq!(
            stored,
            expected.map(|(kind, data)| (kind.to_owned(), data.to_owned()))
        );
        assert_eq!(appends.len(), 2);
    }

    #[test]
    fn of_two_leases_of_a_job_only_the_one_whose_log_is_open_is_appended() {
        let job = JobId::new();
        let lease = |number| Lease { job, number };
        let mut batch = EventBatch::default();
        let (late, mut answer) = tokio::sync::oneshot::channel();
        batch.add(
            lease(1),
            vec![text("late")],
            RunTransition::Continue,
            Some(late),
        );
        batch.add(lease(3), vec![text("good")], RunTransition::Continue, None);
        let (appends, waiting) = batch.into_appends(|it| (it == lease(3)).then_some(7));
        let [append] = &appends[..] else {
            panic!("{} appends", appends.len())
        };
        assert_eq!((append.lease, append.base), (lease(3), 7));
        // The waiter of the superseded lease is returned too, so that it gets an answer.
        let [(superseded, _)] = &waiting[..] else {
            panic!("{} wait", waiting.len())
        };
        assert_eq!(*superseded, lease(1));
        assert!(answer.try_recv().is_err());
    }
}
