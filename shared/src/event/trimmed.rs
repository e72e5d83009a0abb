//! Markers for live output that was removed from a log: `log.trimmed` events.

use serde_json::value::to_raw_value;
use skillet_wire::event::{Event, EventKind, LogTrimmed};

/// Adds a `log.trimmed` event to `events` wherever live output was removed. `events` is the part of a log after
/// `after`. The numbers of a log have no gaps, so a missing number belongs to removed live output. `events` must
/// contain all event types.
///
/// A `log.trimmed` event has the time and the attempt of the event after it. So it is the same each time the log is
/// read.
pub fn mark_trimmed(after: i64, events: Vec<Event>) -> Vec<Event> {
    let mut marked = Vec::with_capacity(events.len());
    let mut last = after;
    for event in events {
        if event.seq > last + 1 {
            marked.push(trimmed(last + 1, &event));
        }
        last = event.seq;
        marked.push(event);
    }
    marked
}

fn trimmed(from: i64, next: &Event) -> Event {
    let to = next.seq - 1;
    Event {
        seq: to,
        kind: EventKind::LogTrimmed.as_str().to_owned(),
        at: next.at,
        attempt: next.attempt,
        data: to_raw_value(&LogTrimmed { from, to }).expect("numbers are JSON"),
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn shown(after: i64, seqs: &[i64]) -> Vec<String> {
        let event = |seq: &i64| Event {
            seq: *seq,
            kind: "log".to_owned(),
            at: DateTime::UNIX_EPOCH,
            attempt: 1,
            data: to_raw_value(&()).unwrap(),
        };
        let marked = mark_trimmed(after, seqs.iter().map(event).collect());
        let show = |event: &Event| format!("{} {} {}", event.seq, event.kind, event.data);
        marked.iter().map(show).collect()
    }

    #[test]
    fn each_gap_is_one_entry_and_none_is_made_up_at_the_end() {
        assert_eq!(
            shown(0, &[1, 2, 3]),
            ["1 log null", "2 log null", "3 log null"]
        );
        let expected = [
            r#"2 log.trimmed {"from":1,"to":2}"#,
            "3 log null",
            r#"7 log.trimmed {"from":4,"to":7}"#,
            "8 log null",
        ];
        assert_eq!(shown(0, &[3, 8]), expected);
        assert_eq!(
            shown(6, &[8]),
            [r#"7 log.trimmed {"from":7,"to":7}"#, "8 log null"]
        );
        assert!(shown(6, &[]).is_empty());
    }
}
